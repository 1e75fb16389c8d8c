//! Seccomp: system calls that a command has no use for, and that a way out begins with.
//!
//! It is a list of what is denied, not of what is allowed: programs that nobody foresaw still run, and the
//! other layers don't depend on it. Calls of another word size than ours end the process, since the numbers
//! below would mean something else there.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::policy::NetworkReach;

/// Denied with EPERM, whatever their arguments: other roots and namespaces, other processes' memory, the
/// kernel's own machinery, descriptors by handle, and io_uring, which does what it likes past any filter.
const DENIED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];
/// Those that only this kind of machine has.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[i64] =
    &[libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_kexec_file_load, libc::SYS_modify_ldt, libc::SYS_uselib];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[i64] = &[];
/// Calls with the numbers of x32 carry this bit; that kernel interface has a few numbers of its own, too.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
/// x32's own numbers of `ptrace`, `process_vm_readv`, `process_vm_writev` and `kexec_load`.
#[cfg(target_arch = "x86_64")]
const X32_DENIED: [i64; 4] = [521, 539, 540, 528];
/// The kinds of namespaces that `clone` may not make.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];
/// Requests that put words into a terminal's input.
const TERMINAL_INPUT: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// Bits of a mode by which a program runs with the rights of its file's owner or group. Made inside, such a file would
/// outlive the sandbox and give the operator's rights to others.
const SET_ID: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];
/// Calls that set a mode, with the place of that argument. `fchmodat2` has this number on every machine.
const SETTING_MODES: &[(i64, u8)] = &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (452, 2), (libc::SYS_mknodat, 2)];
/// Those that only this kind of machine has.
#[cfg(target_arch = "x86_64")]
const SETTING_MODES_HERE: &[(i64, u8)] = &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const SETTING_MODES_HERE: &[(i64, u8)] = &[];
/// Calls that make a file if their flags say so, with the places of flags and mode.
#[cfg(target_arch = "x86_64")]
const OPENING: &[(i64, u8, u8)] = &[(libc::SYS_openat, 2, 3), (libc::SYS_open, 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
const OPENING: &[(i64, u8, u8)] = &[(libc::SYS_openat, 2, 3)];
/// Flags with which a file is made; without them the mode is whatever lies there. `O_TMPFILE` has a bit of its own
/// beside that of folders.
const MAKING: [libc::c_int; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// Filters the calls of this process and all that it starts.
///
/// # Errors
///
/// Reason why it is not filtered.
pub(super) fn filter(reach: NetworkReach) -> Result<(), String> {
    let machine = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    // Programs take the older call when one of these is not there; their flags and modes lie in memory, where no
    // filter sees them.
    let absent = BTreeMap::from([(libc::SYS_clone3, Vec::new()), (libc::SYS_openat2, Vec::new())]);
    for (rules, errno) in [(absent, libc::ENOSYS), (denied(reach)?, libc::EPERM)] {
        let action = SeccompAction::Errno(errno.unsigned_abs());
        let filter = SeccompFilter::new(with_x32(rules), SeccompAction::Allow, action, machine);
        let program: BpfProgram =
            filter.and_then(TryInto::try_into).map_err(|error: seccompiler::BackendError| error.to_string())?;
        seccompiler::apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn denied(reach: NetworkReach) -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().chain(DENIED_HERE).map(|number| (*number, Vec::new())).collect();
    let families: &[libc::c_int] = match reach {
        NetworkReach::LocalSockets => &[libc::AF_UNIX],
        NetworkReach::Loopback | NetworkReach::Everywhere => {
            &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
        }
    };
    let other_family = families.iter().map(|family| argument(0, SeccompCmpOp::Ne, family.unsigned_abs().into()));
    // Of netlink only what lists interfaces and routes: the rest is the kernel's own machinery.
    let other_netlink = [
        argument(0, SeccompCmpOp::Eq, libc::AF_NETLINK.unsigned_abs().into()),
        argument(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE.unsigned_abs().into()),
    ];
    rules.insert(libc::SYS_socket, vec![all(other_family.collect())?, all(other_netlink.into())?]);
    let flags = NAMESPACES.iter().map(|flag| u64::from(flag.cast_unsigned()));
    let clones = flags.map(|flag| all(vec![argument(0, SeccompCmpOp::MaskedEq(flag), flag)]));
    rules.insert(libc::SYS_clone, clones.collect::<Result<_, _>>()?);
    let requests = TERMINAL_INPUT.iter().map(|request| all(vec![argument(1, SeccompCmpOp::Eq, *request)]));
    rules.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    rules.extend(set_id()?);
    Ok(rules)
}

/// Denies to make a set-id file, or one of what is there. On folders too, where the bits are harmless: no filter sees
/// what a path leads to. A folder still takes over the bit of the folder that it is made in.
fn set_id() -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let has = |place: u8, bits: u32| argument(place, SeccompCmpOp::MaskedEq(bits.into()), bits.into());
    let mut rules = BTreeMap::new();
    for (number, mode) in SETTING_MODES.iter().chain(SETTING_MODES_HERE) {
        let denied = SET_ID.map(|bit| all(vec![has(*mode, bit)]));
        rules.insert(*number, denied.into_iter().collect::<Result<_, _>>()?);
    }
    for (number, flags, mode) in OPENING {
        let pairs = MAKING.iter().flat_map(|making| SET_ID.map(|bit| (making.cast_unsigned(), bit)));
        let denied = pairs.map(|(making, bit)| all(vec![has(*flags, making), has(*mode, bit)]));
        rules.insert(*number, denied.collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

type FilterCondition = Result<SeccompCondition, seccompiler::BackendError>;

fn argument(place: u8, comparison: SeccompCmpOp, value: u64) -> FilterCondition {
    SeccompCondition::new(place, SeccompCmpArgLen::Dword, comparison, value)
}

/// The rule that all conditions hold.
fn all(conditions: Vec<FilterCondition>) -> Result<SeccompRule, String> {
    let conditions = conditions.into_iter().collect::<Result<_, _>>();
    conditions.and_then(SeccompRule::new).map_err(|error| error.to_string())
}

#[cfg(target_arch = "x86_64")]
fn with_x32(rules: BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    let own = X32_DENIED.iter().map(|number| (*number | X32, Vec::new()));
    let same: Vec<_> = rules.iter().map(|(number, rules)| (*number | X32, rules.clone())).collect();
    rules.into_iter().chain(same).chain(own).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn with_x32(rules: BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    rules
}
