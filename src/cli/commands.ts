import type { Command } from 'commander'

/** A command in the list of commands. Its module is loaded when it is used. */
export interface CommandEntry {
  readonly name: string
  readonly description: string
  readonly load: () => Promise<Command>
}

/** All commands. This list lets `plimsoll --help` print a page without loading the engine. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'init',
    description: 'Find the SDKs and agent frameworks of a project, and print the lines that connect each of them.',
    load: async () => (await import('./commands/init.ts')).initCommand(),
  },
  {
    name: 'inspect',
    description:
      'Show where the tokens of recorded sessions went. Without a path: the newest sessions of Claude Code, Codex, Gemini CLI, pi and OpenCode on this machine.',
    load: async () => (await import('./commands/inspect.ts')).inspectCommand(),
  },
  {
    name: 'replay',
    description:
      'Re-run recorded sessions call by call under a policy, without a model: what would have been sent and removed, what the next answer would have missed, and the price.',
    load: async () => (await import('./commands/replay.ts')).replayCommand(),
  },
  {
    name: 'demo',
    description: 'Watch a scripted agent work for sixty turns in a 32k window. Needs no key and no network.',
    load: async () => (await import('./commands/demo.ts')).demoCommand(),
  },
  {
    name: 'chat',
    description:
      'Chat with an agent that stays inside its context window. Providers come from the environment; without a key a demo model answers.',
    load: async () => (await import('./commands/chat.ts')).chatCommand(),
  },
  {
    name: 'proxy',
    description:
      'Start an HTTP proxy that keeps requests inside the context window; point your agent’s base URL at it.',
    load: async () => (await import('./commands/proxy.ts')).proxyCommand(),
  },
  {
    name: 'dashboard',
    description:
      'Open a web page that shows sessions, compactions, artifacts and spending of a store, or of recorded files.',
    load: async () => (await import('./commands/dashboard.ts')).dashboardCommand(),
  },
  {
    name: 'mcp',
    description:
      'Start an MCP server: tools, resources and a prompt to read, search and hand over what was removed from stored conversations.',
    load: async () => (await import('./commands/mcp.ts')).mcpCommand(),
  },
  {
    name: 'run',
    description: 'Start a proxy, run one command with its base URLs set to the proxy, and stop both together.',
    load: async () => (await import('./commands/run.ts')).runCommand(),
  },
  {
    name: 'simulate',
    description:
      'Run scripted sessions under a policy, against a simulated provider that counts tokens differently and enforces its window.',
    load: async () => (await import('./commands/simulate.ts')).simulateCommand(),
  },
  {
    name: 'sessions',
    description: 'List, show, undo, fork, export, pin and remove recorded sessions.',
    load: async () => (await import('./commands/sessions.ts')).sessionsCommand(),
  },
  {
    name: 'handoff',
    description:
      'Write what another agent needs to go on with a session, as a session that its client resumes or as a prompt: what was asked, the record, and the newest steps.',
    load: async () => (await import('./commands/handoff.ts')).handoffCommand(),
  },
  {
    name: 'compact',
    description: 'Compact a session with its next request, or show first what that would leave.',
    load: async () => (await import('./commands/compact.ts')).compactCommand(),
  },
  {
    name: 'receipt',
    description:
      'Show what became of what a compaction took out: counts by kind, in view, within reach of a tool, missing or stale.',
    load: async () => (await import('./commands/compact.ts')).receiptCommand(),
  },
  {
    name: 'artifacts',
    description:
      'List, read, search, query and remove artifacts: the exact bytes of what was removed from conversations.',
    load: async () => (await import('./commands/artifacts.ts')).artifactsCommand(),
  },
  {
    name: 'store',
    description: 'Check, export, import, prune and migrate the store.',
    load: async () => (await import('./commands/store.ts')).storeCommand(),
  },
  {
    name: 'count',
    description:
      'Count the tokens of files or standard input: exactly where a tokenizer is installed, otherwise as an interval.',
    load: async () => (await import('./commands/count.ts')).countCommand(),
  },
  {
    name: 'models',
    description: 'List known models with their windows, output limits, prices and tokenizers. Works offline.',
    load: async () => (await import('./commands/models.ts')).modelsCommand(),
  },
  {
    name: 'config',
    description:
      'Write, check and explain settings files: plimsoll.yaml for policies, plimsoll.config.json for the proxy.',
    load: async () => (await import('./commands/config.ts')).configCommand(),
  },
  {
    name: 'limits',
    description: 'List and forget the context windows and body sizes that were learned from upstreams.',
    load: async () => (await import('./commands/limits.ts')).limitsCommand(),
  },
  {
    name: 'usage',
    description: 'Show how much of each rate limit and subscription window is used, per credential.',
    load: async () => (await import('./commands/usage.ts')).usageCommand(),
  },
  {
    name: 'doctor',
    description:
      'Check this machine: Node, store, sandbox, tokenizer, upstreams, clients. Exits with 3 when a check fails.',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand(),
  },
  {
    name: 'completion',
    description: 'Print a completion script for bash, zsh or fish.',
    load: async () => (await import('./commands/completion.ts')).completionCommand(),
  },
]
