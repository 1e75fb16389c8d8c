//! `adjutant adapters`: who can take the turns, who is ready to, and which models their APIs have.

use adjutant_agents::{Adapter, NoList};
use adjutant_core::view::adapters::{self, AdapterRow};
use adjutant_core::view::models::{self, ModelList, ModelRow};
use adjutant_core::words::visible::visible_text;
use adjutant_runtime::assembly::{self, AgentError, Equipment, Overrides, Supplies, Unready};

use crate::exit::Ending;
use crate::failure::{self, Failure};
use crate::settings::{self, Place};
use crate::sitting;

/// List the adapters, and whether they are ready
///
/// Looks at keys, models and addresses as a run in the current folder would find them. Nothing is asked for
/// over the network unless --models is given, and no key is shown.
#[derive(Debug, clap::Args)]
pub struct AdaptersArgs {
    /// Ask the API of ADAPTER which models it has, and so whether the key is good [default: all that are ready]
    ///
    /// Costs nothing. Windows and limits are shown where the server says them; `*` marks the model that a run would
    /// use. Ends with 1 if an API gave no list, with 2 if an adapter lacks what it needs to be asked.
    #[arg(long, value_name = "ADAPTER", num_args = 0..=1, default_missing_value = "")]
    models: Option<String>,
    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
}

/// Lists the adapters, or the models behind them.
pub fn run(args: &AdaptersArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let settings = settings::resolve(&home, &Overrides::default(), None)?;
    let surroundings = settings::surroundings()?;
    let (supplies, refused) = Supplies::as_far_as(&home, settings.adapters.clone(), &surroundings);
    let refused = refused.map(|refused| Failure::unready(Unready::from(refused)));
    for notice in &settings.notices {
        tell!("warning: {notice}");
    }
    for said in refused.iter().map(failure::text).chain(supplies.strangers()) {
        tell!("warning: {said}");
    }
    let equip = |adapter: Adapter| -> anyhow::Result<Equipment> {
        // A model may be configured for one adapter, so it is resolved for each of them.
        let typed = Overrides { adapter: Some(adapter.id.to_owned()), ..Overrides::default() };
        let model = settings::resolve(&home, &typed, None)?.model.filter(|_| adapter.base_url_variable.is_some());
        Ok(supplies.equip(adapter, model, None))
    };
    if let Some(named) = &args.models {
        let asked = asked(named)?.into_iter().map(equip).collect::<anyhow::Result<Vec<_>>>()?;
        return list_models(asked, named.is_empty(), args.json);
    }
    let rows = adjutant_agents::adapters().into_iter().map(|adapter| Ok(row(&equip(adapter)?)));
    let rows = rows.collect::<anyhow::Result<Vec<_>>>()?;
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
        prices_listed: equipment.prices_listed.map(str::to_owned),
        output_tokens_max: equipment.model.as_ref().map(|_| equipment.output_tokens_max.value),
        base_url: equipment.base_url.as_ref().map(|url| url.value.clone()),
        has_other_base_url: equipment.has_other_base_url(),
    }
}

/// The adapters to ask: the one that is named, else all.
fn asked(named: &str) -> anyhow::Result<Vec<Adapter>> {
    if named.is_empty() {
        return Ok(adjutant_agents::adapters());
    }
    let adapter = assembly::known_adapter(named).map_err(Failure::unready)?;
    if adapter.base_url_variable.is_none() && adapter.base_url.is_none() {
        let what = format!("the adapter `{}` has no API to ask", adapter.id);
        return Err(Failure::usage(what).hint("`adjutant adapters` shows which have one").into());
    }
    Ok(vec![adapter])
}

/// Asks the APIs one after the other. `is_of_all`: those that are not ready are passed over.
fn list_models(asked: Vec<Equipment>, is_of_all: bool, json: bool) -> anyhow::Result<Ending> {
    let ready = |equipment: &Equipment| equipment.speaks_to_an_api() && equipment.lack_to_ask().is_none();
    let asked: Vec<Equipment> = asked.into_iter().filter(|equipment| !is_of_all || ready(equipment)).collect();
    if asked.is_empty() {
        return Err(Failure::usage("no adapter is ready to be asked which models it has")
            .hint("`adjutant adapters` shows what each of them lacks")
            .into());
    }
    let runtime = sitting::runtime()?;
    let mut lists = Vec::new();
    for equipment in asked {
        let (id, chosen) = (equipment.adapter.id, equipment.model.as_ref().map(|model| model.value.clone()));
        let base_url = equipment.base_url.as_ref().map(|url| url.value.clone());
        let agent = adjutant_agents::api_agent(
            id,
            equipment.for_questions(settings::proxies()?).map_err(|lack| Failure::unready(AgentError::from(lack)))?,
        )
        .map_err(|error| Failure::usage(error.to_string()))?
        .ok_or_else(|| Failure::unready(AgentError::NotMade(id)))?;
        let list = ModelList { adapter: id.to_owned(), base_url, models: None, error: None, hint: None };
        lists.push(match runtime.block_on(agent.models()) {
            Ok(models) => {
                let row = |model: adjutant_agents::ListedModel| ModelRow {
                    is_chosen: chosen.as_ref() == Some(&model.id),
                    id: model.id,
                    window: model.window,
                    output_tokens_max: model.output_tokens_max,
                };
                ModelList { models: Some(models.into_iter().map(row).collect()), ..list }
            }
            Err(NoList { why, hint }) => ModelList { error: Some(why), hint: Some(hint), ..list },
        });
    }
    if json {
        super::print_json(&lists)?;
    } else {
        super::print(&models::text(&lists))?;
        for list in &lists {
            match (&list.error, &list.hint, &list.models) {
                (Some(error), Some(hint), _) => {
                    tell!("error: `{}`: {}\nhint: {}", list.adapter, visible_text(error), visible_text(hint));
                }
                (_, _, Some(models)) if models.is_empty() => tell!("`{}`: the list is empty", list.adapter),
                _ => {}
            }
        }
    }
    let failed = lists.iter().any(|list| list.error.is_some());
    Ok(if failed { Ending::Failed } else { Ending::Done })
}
