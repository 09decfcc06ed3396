//! `freehold agent`: registers and lists agents.

use freehold_api::agent::{AddAgentProfile, AgentProfile};

use crate::arguments::AgentCommand;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::output::{Output, short, table};

/// Carries out the command.
pub(crate) fn run(connection: &Connection, command: AgentCommand, output: Output) -> Result<(), Failure> {
    match command {
        AgentCommand::Add { name, variables, command } => {
            let mut words = command.into_iter();
            let request = AddAgentProfile {
                name,
                command: words.next().unwrap_or_default(),
                args: words.collect(),
                env: variables.into_iter().collect(),
            };
            let agent = connection.client.add_agent(&request)?;
            output.answer(&agent, || format!("{} is registered: {}", agent.name, command_line(&agent)))
        }
        AgentCommand::List => {
            let agents = connection.client.agents()?;
            output.answer(&agents, || {
                let row = |agent: &AgentProfile| {
                    vec![short(&agent.id).to_owned(), agent.name.clone(), command_line(agent)]
                };
                table(&["id", "name", "command"], agents.iter().map(row).collect(), "No agent is registered.")
            })
        }
    }
}

fn command_line(agent: &AgentProfile) -> String {
    if agent.command.is_empty() {
        return "(built in)".to_owned();
    }
    std::iter::once(&agent.command).chain(&agent.args).map(String::as_str).collect::<Vec<_>>().join(" ")
}
