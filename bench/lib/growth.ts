import { join } from 'node:path'
import type { Item, ItemKind } from '../../src/core/item.ts'
import { loadClaudeDeltas } from './claude-deltas.ts'
import { filesBelow, readLines, readText } from './shared.ts'

/** One call of a recorded session: what came into the conversation since the last one, and what the provider then reported. */
export interface RecordedCall {
  readonly added: readonly Item[]
  readonly prompt: number
  /** Output of this call, where the record can be trusted. */
  readonly output?: number
  readonly reasoning?: number
}

export interface RecordedSession {
  readonly name: string
  /** Row of the table that it counts in. */
  readonly group: string
  readonly model: string
  readonly format: string
  readonly heldOut: boolean
  readonly calls: readonly RecordedCall[]
}

/**
 * Every recorded session where messages and the provider's usage come together. Sessions whose reported prompt shrinks although
 * nothing was taken out are left out: their usage lacks cached tokens, or thinking came and went that the record does not show.
 * Weights were fitted on Claude Code's only, constants of framing were set with a third of the others in view; the rest is held
 * out.
 */
export function loadRecordedSessions(data: string): RecordedSession[] {
  const transcripts = join(data, 'transcripts')
  const others = [...tau2(transcripts), ...codex(transcripts), ...pi(transcripts)].filter(isWhole)
  return [...claudeCode(data), ...others.map((session, index) => ({ ...session, heldOut: index % 3 !== 0 }))]
}

function isWhole({ calls }: RecordedSession): boolean {
  const shrunk = calls.filter(({ prompt }, index) => index > 0 && prompt < calls[index - 1]!.prompt - 20).length
  return calls.length > 4 && shrunk <= calls.length / 20
}

let made = 0
function item(kind: ItemKind, text: string, message: number, more: Partial<Item> = {}): Item {
  const role = kind === 'result' ? 'tool' : kind === 'user' ? 'user' : 'assistant'
  return { id: `i${made++}`, kind, role, text, message, ...more }
}

/** Growths of Claude Code sessions, strung together: only differences are known, and the output is not to be trusted. */
function claudeCode(data: string): RecordedSession[] {
  const sessions = new Map<string, { model: string; heldOut: boolean; calls: RecordedCall[]; prompt: number }>()
  for (const delta of loadClaudeDeltas(data)) {
    const key = `${delta.session} ${delta.model}`
    const session = sessions.get(key) ?? {
      model: delta.model,
      heldOut: delta.heldOut,
      calls: [{ added: [], prompt: 50_000 }],
      prompt: 50_000,
    }
    sessions.set(key, session)
    session.prompt += delta.tokens
    const message = session.calls.length * 2
    const texts = [delta.callText, ...Array.from({ length: Math.max(0, delta.calls - 1) }, () => '')]
    session.calls.push({
      prompt: session.prompt,
      added: [
        ...(delta.assistantText === '' ? [] : [item('assistant', delta.assistantText, message)]),
        ...texts.map((text) => item('call', text, message)),
        ...delta.results.map((text) => item('result', text, message + 1)),
      ],
    })
  }
  return [...sessions].map(([name, { model, heldOut, calls }]) => ({
    name,
    group: 'Claude 4.5/4.6, Claude Code',
    model,
    format: 'anthropic-messages',
    heldOut,
    calls,
  }))
}

interface Tau2Message {
  readonly role: string
  readonly content: string | null
  readonly requestor?: string
  readonly tool_calls?:
    | readonly { readonly name: string; readonly arguments: unknown; readonly requestor?: string }[]
    | null
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null
}

interface Simulation {
  readonly id: string
  readonly messages: readonly Tau2Message[]
}

type Tau2File = Simulation[] | { readonly simulations: Simulation[] }

const TAU2: readonly (readonly [file: string, group: string, model: string, format: string])[] = [
  ['sonnet45_airline', 'Claude Sonnet 4.5, tau2', 'claude-sonnet-4-5', 'anthropic-messages'],
  ['adaptive_opus46_airline', 'Claude Opus 4.6, tau2', 'claude-opus-4-6', 'anthropic-messages'],
  ['gpt41_telecom', 'GPT-4.1, tau2', 'gpt-4.1', 'openai-chat'],
  ['qwen25_airline', 'Qwen 2.5 (Ollama), tau2', 'qwen2.5:7b', 'openai-chat'],
]

/** The agent's own calls; what the simulated user does with its own tools never reaches the agent. */
function tau2(transcripts: string): RecordedSession[] {
  return TAU2.flatMap(([file, group, model, format]) => {
    const parsed = JSON.parse(readText(join(transcripts, 'tau2-bench', `${file}.json.gz`))) as Tau2File
    const simulations = Array.isArray(parsed) ? parsed : parsed.simulations
    return simulations.map(({ id, messages }) => {
      const calls: RecordedCall[] = []
      let added: Item[] = []
      messages.forEach((message, index) => {
        if (message.role === 'assistant' && message.usage) {
          calls.push({ added, prompt: message.usage.prompt_tokens, output: message.usage.completion_tokens })
          added = []
        }
        added.push(...tau2Items(message, index))
      })
      return { name: `${file}/${id}`, group, model, format, heldOut: true, calls }
    })
  })
}

function tau2Items(message: Tau2Message, index: number): Item[] {
  const text = message.content ?? ''
  if (message.role === 'tool') return message.requestor === 'user' ? [] : [item('result', text, index)]
  const own = (message.tool_calls ?? []).filter(({ requestor }) => requestor !== 'user')
  const said = text === '' ? [] : [item(message.role === 'user' ? 'user' : 'assistant', text, index)]
  if (message.role !== 'assistant') return said
  return [...said, ...own.map((call) => item('call', JSON.stringify(call.arguments), index, { toolName: call.name }))]
}

interface CodexRow {
  readonly type: string
  readonly payload?: {
    readonly type?: string
    readonly model?: string
    readonly role?: string
    readonly name?: string
    readonly arguments?: string
    readonly input?: string
    readonly output?: unknown
    readonly content?: readonly { readonly text?: string }[]
    readonly info?: { readonly last_token_usage?: Record<string, number> } | null
  }
}

/** A session per file, cut where the CLI compacted. Newer CLIs write the usage after the tool outputs, which is the order kept here. */
function codex(transcripts: string): RecordedSession[] {
  return filesBelow(join(transcripts, 'codex-rollout')).flatMap((path) => {
    const sessions: RecordedSession[] = []
    let calls: RecordedCall[] = []
    let answer: Item[] = []
    let results: Item[] = []
    let before: Item[] = []
    let model = 'gpt-5.5'
    const close = (): void => {
      const name = `${path}#${sessions.length}`
      sessions.push({ name, group: 'GPT-5.x, Codex', model, format: 'openai-responses', heldOut: true, calls })
      calls = []
      before = []
    }
    readLines<CodexRow>(join(transcripts, 'codex-rollout', path)).forEach(({ type, payload }, index) => {
      if (type === 'turn_context' && payload?.model !== undefined) model = payload.model
      if (type === 'compacted') close()
      if (type === 'response_item' && payload !== undefined) {
        const made = codexItem(payload, index)
        if (made !== undefined) (made.role === 'assistant' ? answer : results).push(made)
      }
      const usage = payload?.type === 'token_count' ? payload.info?.last_token_usage : undefined
      if (usage === undefined) return
      const prompt = usage['input_tokens'] ?? 0
      // The report belongs to the call that made this answer; what stood before it was its prompt.
      if (prompt > 0 && prompt !== calls.at(-1)?.prompt) {
        calls.push({
          added: before,
          prompt,
          output: usage['output_tokens'] ?? 0,
          reasoning: usage['reasoning_output_tokens'] ?? 0,
        })
        before = [...answer, ...results]
      } else before.push(...answer, ...results)
      answer = []
      results = []
    })
    close()
    return sessions
  })
}

function codexItem(payload: NonNullable<CodexRow['payload']>, index: number): Item | undefined {
  const content = (payload.content ?? []).map(({ text }) => text ?? '').join('')
  switch (payload.type) {
    case 'message':
      return item(payload.role === 'assistant' ? 'assistant' : 'user', content, index)
    case 'reasoning':
      return item('reasoning', '', index, { sealed: true })
    case 'function_call':
    case 'custom_tool_call':
      return item('call', payload.arguments ?? payload.input ?? '', index, { toolName: payload.name ?? '' })
    case 'function_call_output':
    case 'custom_tool_call_output':
      return item('result', typeof payload.output === 'string' ? payload.output : JSON.stringify(payload.output), index)
    default:
      return undefined
  }
}

interface PiRow {
  readonly type: string
  readonly message?: {
    readonly role: string
    readonly content?:
      | string
      | readonly {
          readonly type: string
          readonly text?: string
          readonly thinking?: string
          readonly name?: string
          readonly arguments?: unknown
        }[]
    readonly usage?: {
      readonly input: number
      readonly output: number
      readonly cacheRead: number
      readonly cacheWrite: number
    }
    readonly model?: string
  }
}

function pi(transcripts: string): RecordedSession[] {
  const calls: RecordedCall[] = []
  let added: Item[] = []
  readLines<PiRow>(join(transcripts, 'pi', 'before-compaction.jsonl.gz')).forEach(({ type, message }, index) => {
    if (type !== 'message' || message === undefined) return
    const { usage } = message
    if (usage !== undefined && usage.output > 0) {
      calls.push({ added, prompt: usage.input + usage.cacheRead + usage.cacheWrite, output: usage.output })
      added = []
    }
    const blocks =
      typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : (message.content ?? [])
    for (const block of blocks) {
      if (block.type === 'thinking') added.push(item('reasoning', block.thinking ?? '', index))
      else if (block.type === 'toolCall')
        added.push(item('call', JSON.stringify(block.arguments), index, { toolName: block.name ?? '' }))
      else if (block.type === 'text') added.push(item(kindOfPi(message.role), block.text ?? '', index))
    }
  })
  // One long session, in thirds, so that it can be held out in part.
  const third = Math.ceil(calls.length / 3)
  return [0, 1, 2].map((part) => ({
    name: `pi#${part}`,
    group: 'Claude Opus 4.5, pi',
    model: 'claude-opus-4-5',
    format: 'anthropic-messages',
    heldOut: true,
    calls: calls.slice(part * third, (part + 1) * third),
  }))
}

const kindOfPi = (role: string): ItemKind =>
  role === 'toolResult' ? 'result' : role === 'assistant' ? 'assistant' : 'user'
