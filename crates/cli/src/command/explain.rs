//! `adjutant explain`: why the gate let a call through, held it or refused it.

use adjutant_core::brief::Brief;
use adjutant_core::crew::authority::Authority;
use adjutant_core::gate::custom_role::Member;
use adjutant_core::session::amendment::amended;
use adjutant_core::session::explain;
use adjutant_core::trace::RunOptions;
use adjutant_core::view::{self};
use adjutant_core::words::Category;
use adjutant_core::words::visible::{visible_line, visible_text};
use adjutant_runtime::assembly::{latest_options, procedure};
use adjutant_store::journal;
use adjutant_store::runs::{self, Found};
use clap_complete::ArgValueCandidates;

use crate::candidates;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;
use crate::sitting;
/// Show why a call was allowed, held or refused
///
/// Reads the journal and changes nothing. Shows what the call would do, what each check found and about which part
/// of the call, who had said yes to what, what would have allowed it, and whether today's rules decide the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                  adjutant inspect RUN --tools\n  \
                  adjutant explain RUN 3\n  \
                  adjutant explain RUN --authority")]
pub struct ExplainArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// The call: the number of its row in `inspect RUN --tools`, its slot such as `call-5.1`, or the agent's own name for it
    #[arg(required_unless_present = "authority")]
    call: Option<String>,
    /// Show what each role may do instead, and why
    #[arg(long, conflicts_with = "call")]
    authority: bool,
    /// Print the explanation as JSON
    #[arg(long)]
    json: bool,
}

/// Explains a call.
pub fn run(args: &ExplainArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let run_id = match runs::find(&home, &args.run).map_err(super::not_found)? {
        Found::Run(run_id) => run_id,
        Found::Peer(name) => {
            return Err(Failure::usage(format!("`{name}` is a session of another program, which records no reasons"))
                .hint(format!("`adjutant inspect {name} --tools` shows its calls"))
                .into());
        }
    };
    let reading = journal::read_only(&home, &run_id)?;
    if let Some(first) = reading.damaged.first() {
        tell!(
            "warning: the journal is damaged or was changed after it was written ({first}), so this may not be what \
             happened; `adjutant trace verify {}` says where",
            runs::called(&home, &run_id)
        );
    }
    let start = sitting::run_start(&reading.events)?;
    let options = latest_options(&reading.events, &start.options);
    let brief = sitting::recorded_brief(&start.brief, start.options.work.custom_roles())?;
    let called = runs::called(&home, &run_id);
    let Some(name) = &args.call else {
        let authorized_costs = amended(brief.authorized_costs.clone(), &reading.events);
        return authority(&Brief { authorized_costs, ..brief }, options, args.json);
    };
    let named = explain::calls_named(&reading.events, name);
    let rows = named.iter().map(|call| call.row.to_string()).collect::<Vec<_>>().join(", ");
    let call = match named.as_slice() {
        [] => 0,
        [one] => one.row,
        _ => {
            return Err(Failure::usage(format!("`{}` may be several calls of `{run_id}`", visible_line(name)))
                .hint(format!("say the number of its row in `adjutant inspect {called} --tools`: one of {rows}"))
                .into());
        }
    };
    let run = procedure(&brief, options, start.offered.as_deref());
    let Some(explanation) = explain::explain(&reading.events, run, call) else {
        let what = format!("the run `{run_id}` has no call `{}`", visible_line(name));
        return Err(Failure::ending(Ending::Failed, what)
            .hint(format!("`adjutant inspect {called} --tools` shows its calls with their numbers"))
            .into());
    };
    if args.json {
        super::print_json(&explanation)?;
    } else {
        super::print(&view::explain::text(call, &explanation))?;
    }
    Ok(Ending::Done)
}

/// Returns the authority of a role in the run, with the source of each part of it.
pub(super) fn authority_of(member: &Member, brief: &Brief, options: &RunOptions) -> Authority {
    let grant = brief.role_grants.get(&member.name).map(Vec::as_slice);
    Authority::of(member, options.work.custom_roles(), &brief.authorized_costs, grant)
}

/// Prints the authority of each role in the run; for a run by one agent, the categories that the brief authorizes.
fn authority(brief: &Brief, options: &RunOptions, json: bool) -> anyhow::Result<Ending> {
    let members = options
        .work
        .crew()
        .into_iter()
        .flat_map(|crew| &crew.roles)
        .filter_map(|role| Member::of(role, options.work.custom_roles()));
    let roles: Vec<Authority> = members.map(|member| authority_of(&member, brief, options)).collect();
    if json {
        super::print_json(
            &serde_json::json!({ "brief": brief.authorized_costs, "roles": roles, "checks": brief.checks }),
        )?;
        return Ok(Ending::Done);
    }
    let list = |categories: &[Category]| match categories {
        [] => "nothing".to_owned(),
        some => some.iter().map(Category::as_str).collect::<Vec<_>>().join(", "),
    };
    let mut text = format!("the brief authorizes: {}\n", list(&brief.authorized_costs));
    for role in &roles {
        let reads = if role.may_read { "may read; " } else { "" };
        let (limit, all) = (list(&role.role_limit), list(&role.effective));
        let place = if role.role == role.base { String::new() } else { format!("as {}; ", role.base) };
        let defined = role.definition.as_ref().map(|held| format!("its definition leaves it: {}; ", list(held)));
        let granted = role.role_grant.as_ref().map(|held| format!("the brief grants it: {}; ", list(held)));
        let (defined, granted) = (defined.unwrap_or_default(), granted.unwrap_or_default());
        text.push_str(&format!(
            "{:<10} {place}{reads}may ever hold: {limit}; {defined}{granted}holds here: {all}\n",
            role.role.as_str()
        ));
    }
    for check in brief.checks.iter().filter(|_| roles.iter().any(|role| role.base.is_judge())) {
        text.push_str(&format!("judges may run: {check}\n"));
    }
    super::print(&visible_text(&text))?;
    Ok(Ending::Done)
}
