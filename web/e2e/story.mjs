// The main job, told once for the desktop and once for the phone: a task gets a workspace, an agent works in
// it, its conversation is deleted and the files stay, and the archive gives the workspace back.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { look } from "./browser.mjs";
import { until } from "./freehold.mjs";

const MARKER = "marker-of-a-person.txt";
const ADDED = "freehold-demo.md";

export async function tellStory({ page, place, freehold, projectName, phone }) {
  const story = new Story({ page, place, freehold, projectName, phone });
  await story.addRepository();
  await story.createTask("Edit two files and add one.");
  await story.watchConversation();
  await story.readChanges();
  story.writeMarker();
  await story.deleteOnlySession();
  await story.startAnotherSession();
  await story.answerPermission();
  story.commit();
  await story.archive();
}

class Story {
  constructor(parts) {
    Object.assign(this, parts);
    this.checkout = { head: this.gitIn(parts.place.repository, "rev-parse", "HEAD"), status: "" };
  }

  gitIn(folder, ...args) {
    return this.place.git(folder, ...args).trim();
  }

  look(name) {
    return look(this.page, this.projectName, name);
  }

  /** Shows one of the phone's views; the desktop shows all of them. */
  async show(view) {
    if (!this.phone) return;
    await this.page
      .getByRole("navigation", { name: "Task" })
      .getByRole("button", { name: view, exact: true })
      .click();
  }

  detail() {
    return this.freehold.ask(`/tasks/${this.taskId}`);
  }

  async addRepository() {
    const { page } = this;
    await page.goto(this.freehold.url);
    await page.getByRole("heading", { name: "Begin with a repository" }).waitFor();
    assert.equal(new URL(page.url()).hash, "", "the token stays in the address");
    await this.look("01-first-run");
    await page.getByLabel("Path of the repository").fill("/nowhere/at/all");
    await page.getByRole("button", { name: "Add repository" }).click();
    await page.getByRole("alert").waitFor();
    await this.look("02-not-a-repository");
    await page.getByLabel("Path of the repository").fill(this.place.repository);
    await page.getByRole("button", { name: "Add repository" }).click();
    await page.getByRole("button", { name: "New task" }).waitFor();
    assert.equal((await this.freehold.ask("/repositories")).length, 1);
    await this.look("03-board-empty");
  }

  async createTask(prompt) {
    const { page } = this;
    await page.getByRole("button", { name: "New task" }).click();
    await page.getByLabel("What should the agent do?").fill(prompt);
    await page
      .getByLabel("Base branch")
      .locator("option", { hasText: "main" })
      .waitFor({ state: "attached" });
    await this.look("04-new-task");
    await page.getByRole("button", { name: "Create task" }).click();
    await page.waitForURL(/\/tasks\//);
    this.taskId = new URL(page.url()).pathname.split("/").at(-1);
  }

  async watchConversation() {
    const { page } = this;
    const conversation = page.getByRole("region", { name: "Conversation" });
    await conversation.getByText("I begin with two files").waitFor();
    await conversation.getByText("Done. I edited two files").waitFor();
    await until(
      "the agent waits for a prompt",
      async () => (await this.detail()).sessions[0]?.state === "IDLE",
    );
    const [repository] = (await this.detail()).environment.repositories;
    this.worktree = repository.worktree_path;
    this.branch = repository.worktree_branch;
    const said = await conversation.getByText("Done. I edited two files").count();
    assert.equal(said, 1, "the closing words are shown more than once");
    await this.look("05-conversation");
    await conversation.locator("summary", { hasText: ADDED }).first().click();
    await conversation.locator("table").first().waitFor();
    await this.look("06-tool-card");
  }

  async readChanges() {
    const { page } = this;
    const changed = this.gitIn(this.worktree, "diff", "--name-only", "HEAD").split("\n");
    assert.equal(changed.length, 2, `the agent edited ${changed}`);
    const expected = [...changed, ADDED].sort();
    await this.show("Changes");
    await until("the changes show exactly the three files", async () => {
      const shown = await page
        .locator("[data-file]")
        .evaluateAll((rows) => rows.map((row) => row.dataset.file));
      return shown.sort().join() === expected.join();
    });
    const first = page.locator(`[data-file="${changed[0]}"]`);
    await first.getByRole("button").first().click();
    await first.locator("table").waitFor();
    await this.look("07-changes");
    if (!this.phone) {
      await page.getByRole("radio", { name: "Split" }).click();
      await this.look("08-changes-split");
      await page.getByRole("radio", { name: "Unified" }).click();
    }
  }

  writeMarker() {
    this.markerPath = join(this.worktree, MARKER);
    writeFileSync(this.markerPath, "written by hand\n");
    this.worktrees = this.gitIn(this.place.repository, "worktree", "list", "--porcelain");
  }

  async deleteOnlySession() {
    const { page } = this;
    const tip = this.gitIn(this.place.repository, "rev-parse", this.branch);
    await this.show("Task");
    if (this.phone) await this.look("09-task-facts");
    await page.getByRole("button", { name: /^Actions for Session/ }).click();
    if (this.phone) await this.look("10-session-actions");
    await page.getByRole(this.phone ? "button" : "menuitem", { name: "Delete conversation…" }).click();
    const dialog = page.getByRole("alertdialog", { name: "Delete this conversation?" });
    await dialog.getByText("The task workspace and its files are kept").waitFor();
    await this.look("11-delete-session");
    await dialog.getByRole("button", { name: "Delete conversation" }).click();
    await dialog.waitFor({ state: "hidden" });

    await until("the task has no session", async () => (await this.detail()).sessions.length === 0);
    assert.ok(existsSync(this.worktree), "the directory is gone");
    assert.equal(readFileSync(this.markerPath, "utf8"), "written by hand\n");
    assert.equal(this.gitIn(this.place.repository, "worktree", "list", "--porcelain"), this.worktrees);
    assert.equal(this.gitIn(this.place.repository, "rev-parse", this.branch), tip);
    assert.deepEqual(await this.freehold.ask("/cleanup-jobs"), [], "deleting a session made a cleanup job");
    await this.show("Chat");
    await page.getByRole("heading", { name: "No session" }).waitFor();
    await this.look("12-no-session");
  }

  async startAnotherSession() {
    const { page } = this;
    await page.getByRole("button", { name: "New session" }).last().click();
    await this.send("list");
    await page.getByRole("region", { name: "Conversation" }).getByText(MARKER).first().waitFor();
    await this.look("13-marker-seen");
  }

  async send(text) {
    const { page } = this;
    await until("the agent is ready", async () => (await this.detail()).sessions.at(-1)?.state === "IDLE");
    await page.getByLabel("Message to the agent").fill(text);
    await page.getByRole("button", { name: "Send" }).click();
  }

  async answerPermission() {
    const { page } = this;
    await this.send("Ask for permission.");
    const card = page.getByRole("region", { name: "The agent asks for permission" });
    await card.waitFor();
    await this.look("14-permission");
    await card.getByRole("button").first().click();
    await card.waitFor({ state: "hidden" });
    await until("the turn ends", async () => (await this.detail()).sessions.at(-1)?.state === "IDLE");
    await this.look("15-permission-answered");
  }

  commit() {
    this.gitIn(this.worktree, "add", "--all");
    this.gitIn(this.worktree, "commit", "--quiet", "--message", "Keep what was done");
    this.tip = this.gitIn(this.worktree, "rev-parse", "HEAD");
  }

  async archive() {
    const { page } = this;
    await page.getByRole("button", { name: "Task actions" }).click();
    await page.getByRole("menuitem", { name: "Archive task…" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText("the folder is removed and its disk space comes back").waitFor();
    await dialog.getByText(this.branch).waitFor();
    await this.look("16-archive");
    await dialog.getByRole("button", { name: "Archive task" }).click();
    await dialog.waitFor({ state: "hidden" });
    await until("the cleanup succeeds", async () => {
      const [job] = await this.freehold.ask("/cleanup-jobs");
      assert.notEqual(job?.state, "needs_decision", `the cleanup waits: ${JSON.stringify(job?.stakes)}`);
      return job?.state === "succeeded";
    });

    assert.ok(!existsSync(this.worktree), "the directory is still there");
    const listed = this.gitIn(this.place.repository, "worktree", "list", "--porcelain");
    assert.ok(!listed.includes(this.worktree), "the worktree is still registered");
    assert.equal(
      this.gitIn(this.place.repository, "rev-parse", this.branch),
      this.tip,
      "the branch is not kept",
    );
    assert.equal(this.gitIn(this.place.repository, "rev-parse", "HEAD"), this.checkout.head);
    assert.equal(this.gitIn(this.place.repository, "status", "--porcelain"), this.checkout.status);
    await this.visitOtherScreens();
  }

  async visitOtherScreens() {
    const { page } = this;
    await page.goto(new URL("/archived", page.url()).href);
    await page.getByRole("link", { name: /Edit two files/ }).waitFor();
    await this.look("17-archived");
    await page.goto(new URL("/storage", page.url()).href);
    await page.getByText("Done and verified").waitFor();
    await this.look("18-storage");
    await page.goto(new URL("/settings", page.url()).href);
    await page.getByText(this.place.repository).first().waitFor();
    await this.look("19-settings");
  }
}
