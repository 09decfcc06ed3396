//! Agent profiles: which programs can be started as agents, and how.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use freehold_agent::AgentCommand;
use freehold_domain::agent::{AgentProfile, DEMO_AGENT};
use freehold_domain::id::AgentProfileId;
use freehold_store as store;
use freehold_store::Tx;

use crate::{Engine, EngineError};

/// Asks for a custom agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewAgentProfile {
    /// The name to show; unique.
    pub name: String,
    /// The program: an absolute path or a name looked up in `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables it gets beyond the allowed ones.
    pub env: BTreeMap<String, String>,
}

impl Engine {
    /// Lists the agent profiles.
    pub async fn agent_profiles(&self) -> Result<Vec<AgentProfile>, EngineError> {
        Ok(self.inner.store.read(store::agent::list).await?)
    }

    /// Stores a custom agent. The program is looked for only when a session starts, so that a profile can be
    /// written before the program is installed.
    pub async fn add_agent_profile(&self, request: NewAgentProfile) -> Result<AgentProfile, EngineError> {
        let name = request.name.trim().to_owned();
        check(&name, &request)?;
        let now = self.now();
        let profile = AgentProfile {
            id: AgentProfileId::generate(self.ids()),
            agent_id: "custom".into(),
            name,
            command: request.command.trim().to_owned(),
            args: request.args,
            env: request.env,
            created_at: now,
            updated_at: now,
        };
        let write = self.inner.store.write(move |tx| {
            if store::agent::list(tx)?.iter().any(|other| other.name == profile.name) {
                return Err(EngineError::AgentExists { name: profile.name });
            }
            store::agent::insert(tx, &profile)?;
            Ok(profile)
        });
        write.await
    }

    /// The command that starts the agent of a profile in `cwd`.
    pub(crate) fn agent_command(&self, profile: &AgentProfile, cwd: &Path) -> AgentCommand {
        let (program, mut args) = if profile.agent_id == DEMO_AGENT {
            self.inner.options.demo_agent.clone()
        } else {
            (PathBuf::from(&profile.command), Vec::new())
        };
        args.extend(profile.args.iter().cloned());
        AgentCommand { program, args, env: profile.env.clone(), cwd: cwd.to_owned() }
    }
}

/// Finds an agent profile; fails when it is absent.
pub(crate) fn require_profile(tx: &mut Tx<'_>, id: &AgentProfileId) -> Result<AgentProfile, EngineError> {
    let profile = store::agent::find(tx, id)?;
    profile.ok_or_else(|| EngineError::NotFound { noun: "agent", id: id.to_string() })
}

/// Finds the agent profile that a session or a task (`whose`) names; fails when it is absent or when it has no
/// command, as profiles of older databases may, whose commands were kept elsewhere.
pub(crate) fn require_startable(
    tx: &mut Tx<'_>,
    id: &AgentProfileId,
    whose: &'static str,
) -> Result<AgentProfile, EngineError> {
    let profile = store::agent::find(tx, id)?.ok_or_else(|| EngineError::InvalidField {
        field: "agent_profile_id",
        reason: format!("the {whose}'s agent {id} does not exist; open a session with another"),
    })?;
    if profile.agent_id != DEMO_AGENT && profile.command.trim().is_empty() {
        return Err(EngineError::AgentWithoutCommand { name: profile.name });
    }
    Ok(profile)
}

fn check(name: &str, request: &NewAgentProfile) -> Result<(), EngineError> {
    let invalid = |field, reason: &str| Err(EngineError::InvalidField { field, reason: reason.into() });
    if name.is_empty() || name.chars().count() > 200 {
        return invalid("name", "an agent's name has 1 to 200 characters");
    }
    if request.command.trim().is_empty() {
        return invalid("command", "it is empty; name the program to start");
    }
    let texts = request.args.iter().chain(request.env.values()).chain([&request.command]);
    if texts.into_iter().any(|text| text.contains('\0')) {
        return invalid("args", "a NUL character cannot be given to a program");
    }
    match request.env.keys().find(|key| key.is_empty() || key.contains(['=', '\0'])) {
        Some(key) => Err(EngineError::InvalidField {
            field: "env",
            reason: format!("{key:?} is not a variable's name"),
        }),
        None => Ok(()),
    }
}
