import type { Link } from '../../../core/chain.ts'
import type { Codec, ModelResponse } from '../../../core/codec.ts'
import type { Conversation } from '../../../core/conversation.ts'
import { changeEnvelope } from '../../../core/edits.ts'
import { readersIn, readerTools } from '../../../engine/readers/reader-tools.ts'
import { anthropicHidden } from '../../../formats/anthropic-messages/steps.ts'
import { chatHidden } from '../../../formats/openai-chat/steps.ts'
import { geminiHidden } from '../../../formats/gemini/steps.ts'
import { appendHistory, insertSteps } from './history.ts'
import { responsesHidden } from '../../../formats/openai-responses/steps.ts'
import { runHiddenTool, type HiddenAsker, type HiddenToolDeps } from './run-tool.ts'
import { answerAfter, signOf, type HiddenSteps } from './steps.ts'
import type { HiddenStep, HiddenWire, Json, VisibleStream } from '../../../formats/wire/steps.ts'

const WIRES: Readonly<Record<string, HiddenWire>> = {
  'anthropic-messages': anthropicHidden,
  'openai-chat': chatHidden,
  'openai-responses': responsesHidden,
  gemini: geminiHidden,
}

/** Most answers of ours to one request of the client. */
const MAX_HIDDEN_STEPS = 4

export interface HiddenDeps {
  readonly steps: HiddenSteps
  readonly tools: HiddenToolDeps
}

export interface HiddenRequest extends HiddenAsker {
  readonly codec: Codec
  readonly text: string
  readonly conversation: Conversation
  readonly links: readonly Link[]
  readonly decode: (text: string) => Conversation
}

/** A request with our tools in it, and what happens to its answers. */
export interface HiddenSession {
  /** The client's request with tools and earlier steps put in: what the engine gets to see. */
  readonly text: string
  readonly conversation: Conversation
  stream(): VisibleStream
  partsOf(body: Json): readonly Json[]
  assemble(bodies: readonly Json[], visible: readonly Json[]): Json
  isHidden(part: Json): boolean
  /**
   * Takes one answer of the upstream. Gives the request that goes on from it, or undefined when the client's turn has come:
   * nothing of ours in it, calls of the client's own beside it, or enough steps.
   */
  take(parts: readonly Json[]): Promise<string | undefined>
  /** The visible answer is complete: steps become durable. */
  done(visible: ModelResponse | undefined): Promise<void>
}

/** Undefined when this session has no tools of ours. */
export async function openHidden(deps: HiddenDeps, request: HiddenRequest): Promise<HiddenSession | undefined> {
  const { owner, codec, conversation, links } = request
  const wire = WIRES[codec.format]
  if (wire === undefined || conversation.settings.previousResponseId !== undefined) return undefined
  const { tools: names, chains } = await deps.steps.decide(owner, () =>
    mayInject(conversation, request.text) ? deps.tools.names(conversation.settings.model) : [],
  )
  if (names.length === 0) return undefined
  const isOurs = (name: string): boolean => names.includes(name)

  const withSteps = async (): Promise<string> => {
    const wanted = new Set(chains)
    const byIndex = new Map<number, readonly HiddenStep[]>()
    for (const link of links) {
      if (!wanted.has(link.chain)) continue
      const answer = await deps.steps.answer(owner, link.chain)
      const items = answerAfter(conversation.items, link)
      if (answer === undefined || items.length === 0 || signOf(items) !== answer.sign) continue
      byIndex.set(conversation.items[link.index]!.message + 1, answer.steps)
    }
    return insertSteps(declare(codec, conversation, names), wire, byIndex)
  }

  const text = await withSteps()
  const taken: HiddenStep[] = []
  let visible = 0
  let transcript = text
  return {
    text,
    conversation: request.decode(text),
    stream: () => wire.stream(isOurs),
    partsOf: (body) => wire.partsOf(body),
    assemble: (bodies, parts) => wire.assemble(bodies, parts),
    isHidden: (part) => wire.callOf(part, isOurs) !== undefined,
    async take(parts) {
      const own = parts.filter((part) => wire.callOf(part, isOurs) !== undefined)
      const others = parts.filter((part) => wire.callOf(part, isOurs) === undefined)
      const before = visible + parts.slice(0, parts.indexOf(own[0]!)).length
      visible += others.length
      if (own.length === 0) return undefined
      const results: Json[] = []
      for (const part of own) {
        const call = wire.callOf(part, isOurs)!
        results.push(wire.resultOf(call, await runHiddenTool(deps.tools, request, call)))
      }
      const enough = taken.length + 1 >= MAX_HIDDEN_STEPS
      const beside = enough || others.some((part) => wire.isCall(part))
      taken.push({ at: beside ? before : visible, calls: own, results, beside })
      if (beside) return undefined
      transcript = appendHistory(transcript, wire, wire.continuation(parts, results))
      return transcript
    },
    async done(response) {
      const chain = links.at(-1)?.chain
      if (taken.length === 0 || chain === undefined || response === undefined) return
      await deps.steps.remember(owner, chain, { steps: taken, sign: signOf(response.items) })
    },
  }
}

const declare = (codec: Codec, conversation: Conversation, names: readonly string[]): string =>
  codec.encode(changeEnvelope(conversation, { addTools: readerTools(names) })).text

/** Only where the client runs tools itself, lets the model choose, and has no readers of its own. */
function mayInject({ tools }: Conversation, text: string): boolean {
  if (tools.length === 0 || readersIn(tools).size > 0) return false
  const fields = JSON.parse(text) as Record<string, unknown>
  const choice = fields['tool_choice'] as Record<string, unknown> | string | undefined
  if (choice === 'none' || (typeof choice === 'object' && choice !== null && choice['type'] === 'none')) return false
  if (typeof fields['n'] === 'number' && fields['n'] > 1) return false
  const config = (fields['toolConfig'] ?? fields['tool_config']) as
    | { functionCallingConfig?: { mode?: string } }
    | undefined
  if (config?.functionCallingConfig?.mode === 'NONE') return false
  // Gemini refuses functions beside its built-in search; a request that declares no function has no loop to join.
  const list = fields['tools']
  return !Array.isArray(list) || list.every((tool) => isFunctionTool(tool as Record<string, unknown>))
}

const BUILT_IN = [
  'googleSearch',
  'google_search',
  'codeExecution',
  'code_execution',
  'urlContext',
  'googleSearchRetrieval',
]
const isFunctionTool = (tool: Record<string, unknown>): boolean => !BUILT_IN.some((name) => tool[name] !== undefined)
