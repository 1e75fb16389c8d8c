//! `adjutant adapters`: who can take the turns, and who is ready to.

use adjutant_core::view::adapters::{self, AdapterRow};

use crate::equipment::{Equipment, Supplies};
use crate::exit::Ending;
use crate::failure;
use crate::settings::{self, Place, Typed};

/// List the adapters, and whether they are ready
///
/// Looks at keys, models and addresses as a run in the current folder would find them. Nothing is asked for
/// over the network, and no key is shown.
#[derive(Debug, clap::Args)]
pub struct AdaptersArgs {
    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
}

/// Lists the adapters.
pub fn run(args: &AdaptersArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let mut rows = Vec::new();
    let settings = settings::resolve(&home, &Typed::default(), None)?;
    let (supplies, refused) = Supplies::as_far_as(&home, settings.adapters.clone());
    for notice in &settings.notices {
        tell!("warning: {notice}");
    }
    for said in refused.iter().map(failure::text).chain(settings::strangers(&supplies.keys)) {
        tell!("warning: {said}");
    }
    for adapter in adjutant_agents::adapters() {
        // A model may be configured for one adapter, so it is resolved for each of them.
        let typed = Typed { adapter: Some(adapter.id.to_owned()), ..Typed::default() };
        let model = settings::resolve(&home, &typed, None)?.model.filter(|_| adapter.base_url_variable.is_some());
        rows.push(row(&supplies.equip(adapter, model, None)));
    }
    if args.json {
        super::print_json(&rows)?;
    } else {
        super::print(&adapters::text(&rows))?;
    }
    Ok(Ending::Done)
}

fn row(equipment: &Equipment) -> AdapterRow {
    let lack = equipment.lack();
    AdapterRow {
        id: equipment.adapter.id.to_owned(),
        name: equipment.adapter.name.to_owned(),
        ready: lack.is_none(),
        why_not: lack.map(|lack| lack.what),
        key_from: equipment.key.as_ref().map(|key| key.source.clone()),
        model: equipment.model.as_ref().map(|model| model.value.clone()),
        tier: equipment.tier.value.to_string(),
        window: equipment.window.as_ref().map(|window| window.value),
        prices: equipment.prices.into(),
        base_url: equipment.base_url.as_ref().map(|url| url.value.clone()),
        has_other_base_url: equipment.has_other_base_url(),
    }
}
