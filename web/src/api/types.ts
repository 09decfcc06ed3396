// The nouns of the HTTP interface under their short names.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type AgentProfile = Schemas["AgentProfile"];
export type Branch = Schemas["Branch"];
export type CleanupJob = Schemas["CleanupJob"];
export type CloseReport = Schemas["CloseReport"];
export type Environment = Schemas["Environment"];
export type ErrorBody = Schemas["ErrorBody"];
export type Offer = Schemas["Offer"];
export type FileChange = Schemas["FileChange"];
export type FileDiff = Schemas["FileDiff"];
export type LeftOut = Schemas["LeftOut"];
export type LiveEvent = Schemas["LiveEvent"];
export type LiveFrame = Schemas["LiveFrame"];
export type Message = Schemas["Message"];
export type MessagePage = Schemas["MessagePage"];
export type NewTask = Schemas["NewTask"];
export type Permission = Schemas["Permission"];
export type Plan = Schemas["Plan"];
export type Repository = Schemas["Repository"];
export type RepositoryChanges = Schemas["RepositoryChanges"];
export type Seal = Schemas["Seal"];
export type SealedChanges = Schemas["SealedChanges"];
export type Session = Schemas["Session"];
export type Stake = Schemas["Stake"];
export type Step = Schemas["Step"];
export type TaskCard = Schemas["TaskCard"];
export type TaskDetail = Schemas["TaskDetail"];
export type TaskRef = Schemas["TaskRef"];
export type TaskPage = Schemas["TaskPage"];
export type ToolCall = Schemas["ToolCall"];
export type ToolDiff = Schemas["ToolDiff"];
export type TrashedTask = Schemas["TrashedTask"];
export type Workspace = Schemas["Workspace"];
