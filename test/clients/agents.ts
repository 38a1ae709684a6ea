import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Wire } from '../../src/testing/referee/index.ts'
import { agentsFolder } from './install.ts'

/** How one coding agent is run without a person against a base URL. */
export interface CodingAgent {
  readonly name: string
  readonly wire: Wire
  readonly prefix: 'openai' | 'gemini'
  readonly model: string
  /** Its shell tool and the argument that takes the command. */
  readonly shell: { readonly tool: string; readonly input: (command: string) => Record<string, unknown> }
  command(run: AgentRun): { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }
}

export interface AgentRun {
  readonly home: string
  readonly base: string
  readonly task: string
}

const BELIEVED_WINDOW = 1_000_000

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
    command: ({ home, base, task }) => ({
      args: [
        binary('codex'),
        'exec',
        '--skip-git-repo-check',
        '--dangerously-bypass-approvals-and-sandbox',
        '-m',
        'gpt-5.2',
        '-c',
        'model_provider=local',
        '-c',
        `model_providers.local={name="local",base_url="${base}/v1",wire_api="responses",env_key="LOCAL_KEY"}`,
        '-c',
        `model_context_window=${BELIEVED_WINDOW}`,
        task,
      ],
      env: { CODEX_HOME: codexHome(home), LOCAL_KEY: 'sk-local' },
    }),
  },
  {
    name: 'pi',
    wire: 'openai-chat',
    prefix: 'openai',
    model: 'local-model',
    shell: { tool: 'bash', input: (command) => ({ command }) },
    command({ home, base, task }) {
      writeJson(join(home, '.pi/agent/models.json'), {
        providers: {
          local: {
            baseUrl: `${base}/v1`,
            api: 'openai-completions',
            apiKey: 'sk-local',
            models: [
              {
                id: 'local-model',
                name: 'local-model',
                reasoning: false,
                input: ['text'],
                cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
                contextWindow: BELIEVED_WINDOW,
                maxTokens: 4_096,
              },
            ],
          },
        },
      })
      return {
        args: [binary('pi'), '--provider', 'local', '--model', 'local-model', '-p', task],
        env: { PI_OFFLINE: '1' },
      }
    },
  },
  {
    name: 'opencode',
    wire: 'openai-chat',
    prefix: 'openai',
    model: 'local-model',
    shell: { tool: 'bash', input: (command) => ({ command, description: 'Reads a log' }) },
    command({ home, base, task }) {
      writeJson(join(home, 'work/opencode.json'), {
        provider: {
          local: {
            npm: '@ai-sdk/openai-compatible',
            name: 'local',
            options: { baseURL: `${base}/v1`, apiKey: 'sk-local' },
            models: { 'local-model': { name: 'local-model', limit: { context: BELIEVED_WINDOW, output: 4_096 } } },
          },
        },
        permission: 'allow',
        autoupdate: false,
        share: 'disabled',
      })
      return { args: [binary('opencode'), 'run', '-m', 'local/local-model', task], env: {} }
    },
  },
  {
    name: 'gemini-cli',
    wire: 'gemini',
    prefix: 'gemini',
    model: 'gemini-2.5-pro',
    shell: { tool: 'run_shell_command', input: (command) => ({ command, description: 'Reads a log' }) },
    command({ home, base, task }) {
      writeJson(join(home, '.gemini/settings.json'), {
        security: { auth: { selectedType: 'gemini-api-key' } },
        general: { disableAutoUpdate: true },
        privacy: { usageStatisticsEnabled: false },
      })
      return {
        args: [binary('gemini'), '--yolo', '--skip-trust', '-m', 'gemini-2.5-pro', '-p', task],
        env: { GOOGLE_GEMINI_BASE_URL: base, GEMINI_API_KEY: 'sk-local' },
      }
    },
  },
]

function codexHome(home: string): string {
  const folder = join(home, '.codex')
  mkdirSync(folder, { recursive: true })
  return folder
}
