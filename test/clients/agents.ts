import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Wire } from '../../src/testing/referee/index.ts'
import { agentsFolder } from './install.ts'

/** How one coding agent is run without a person. Nothing here tells it where its provider is: `plimsoll run` does. */
export interface CodingAgent {
  readonly name: string
  readonly wire: Wire
  readonly prefix: 'openai' | 'gemini' | 'anthropic'
  readonly model: string
  /** Its shell tool and the argument that takes the command. */
  readonly shell: { readonly tool: string; readonly input: (command: string) => Record<string, unknown> }
  command(run: AgentRun): { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }
}

export interface AgentRun {
  readonly home: string
  readonly task: string
}

const binary = (name: string): string => join(agentsFolder, 'node_modules/.bin', name)

function writeJson(file: string, value: unknown): void {
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, JSON.stringify(value))
}

export const CODING_AGENTS: readonly CodingAgent[] = [
  {
    name: 'codex',
    wire: 'openai-responses',
    prefix: 'openai',
    model: 'gpt-5.2',
    shell: { tool: 'exec_command', input: (cmd) => ({ cmd }) },
    command: ({ home, task }) => ({
      args: [
        binary('codex'),
        'exec',
        '--skip-git-repo-check',
        '--dangerously-bypass-approvals-and-sandbox',
        '-m',
        'gpt-5.2',
        task,
      ],
      env: { CODEX_HOME: codexHome(home), OPENAI_API_KEY: 'sk-local' },
    }),
  },
  {
    name: 'pi',
    wire: 'anthropic-messages',
    prefix: 'anthropic',
    model: 'claude-sonnet-4-5',
    shell: { tool: 'bash', input: (command) => ({ command }) },
    command: ({ task }) => ({
      args: [binary('pi'), '--provider', 'anthropic', '--model', 'claude-sonnet-4-5', '--thinking', 'off', '-p', task],
      env: { PI_OFFLINE: '1', ANTHROPIC_API_KEY: 'sk-local' },
    }),
  },
  {
    name: 'opencode',
    wire: 'anthropic-messages',
    prefix: 'anthropic',
    model: 'claude-sonnet-4-5',
    shell: { tool: 'bash', input: (command) => ({ command, description: 'Reads a log' }) },
    command({ home, task }) {
      writeJson(join(home, 'work/opencode.json'), { permission: 'allow', autoupdate: false, share: 'disabled' })
      return {
        args: [binary('opencode'), 'run', '-m', 'anthropic/claude-sonnet-4-5', task],
        env: { ANTHROPIC_API_KEY: 'sk-local', OPENCODE_DISABLE_MODELS_FETCH: '1' },
      }
    },
  },
  {
    name: 'claude-code',
    wire: 'anthropic-messages',
    prefix: 'anthropic',
    model: 'claude-sonnet-4-5',
    shell: { tool: 'Bash', input: (command) => ({ command, description: 'Reads a log' }) },
    command: ({ task }) => ({
      args: [binary('claude'), '-p', task, '--model', 'claude-sonnet-4-5', '--dangerously-skip-permissions'],
      env: {
        ANTHROPIC_API_KEY: 'sk-local',
        // It refuses to run without asking as root, unless it is told that nothing else is there.
        IS_SANDBOX: '1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    }),
  },
  {
    name: 'gemini-cli',
    wire: 'gemini',
    prefix: 'gemini',
    model: 'gemini-2.5-pro',
    shell: { tool: 'run_shell_command', input: (command) => ({ command, description: 'Reads a log' }) },
    command({ home, task }) {
      writeJson(join(home, '.gemini/settings.json'), {
        security: { auth: { selectedType: 'gemini-api-key' } },
        general: { disableAutoUpdate: true },
        privacy: { usageStatisticsEnabled: false },
      })
      return {
        args: [binary('gemini'), '--yolo', '--skip-trust', '-m', 'gemini-2.5-pro', '-p', task],
        env: { GEMINI_API_KEY: 'sk-local' },
      }
    },
  },
]

function codexHome(home: string): string {
  const folder = join(home, '.codex')
  mkdirSync(folder, { recursive: true })
  return folder
}
