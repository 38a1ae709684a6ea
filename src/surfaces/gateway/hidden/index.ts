import type { Link } from '../../../core/chain.ts'
import type { Codec, ModelResponse } from '../../../core/codec.ts'
import type { Conversation } from '../../../core/conversation.ts'
import { sha256Text } from '../../../drivers/crypto/sha256.ts'
import type { ToolOffer } from '../../../engine/readers/offered-tools.ts'
import type { PreparedTurn } from '../../../engine/prepare/prepare.ts'
import { COMPACT_READER, COMPACT_READS, readersIn, readerTools } from '../../../engine/readers/reader-tools.ts'
import { wireOf } from '../../../formats/registry.ts'
import { appendHistory, insertSteps } from './history.ts'
import { runHiddenTool, type HiddenAsker, type HiddenToolDeps } from './run-tool.ts'
import { answerAfter, signOf, type HiddenSteps } from './steps.ts'
import type { Fields } from '../../../core/values.ts'
import type { HiddenStep, IsOurs, VisibleStream } from '../../../formats/wire/steps.ts'

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

/** The request that goes on after our tools were answered. */
export interface HiddenRequestText {
  readonly text: string
  /** What the engine may declare in it: nothing of ours, once enough was read. */
  readonly offer: ToolOffer
}

/** A request into which our tools may come, and what happens to its answers. */
export interface HiddenSession {
  /** The client's request with earlier steps put in: what the engine gets to see. */
  readonly text: string
  readonly conversation: Conversation
  /** Tools of ours that the engine may declare. */
  readonly offer: ToolOffer
  /** Told what the engine declared, before the request leaves. */
  declared(turn: Pick<PreparedTurn, 'declared' | 'epoch'>): Promise<void>
  stream(): VisibleStream
  partsOf(body: Fields): readonly Fields[]
  assemble(bodies: readonly Fields[], visible: readonly Fields[]): Fields
  isHidden(part: Fields): boolean
  /**
   * Takes one answer of the upstream. Gives the request that goes on from it, or undefined when the client's turn has come:
   * nothing of ours in it, or calls of the client's own beside it.
   */
  take(parts: readonly Fields[]): Promise<HiddenRequestText | undefined>
  /** The visible answer is complete: steps become durable. */
  done(visible: ModelResponse | undefined): Promise<void>
}

/** Undefined when nothing of ours is or was in this request. */
export async function openHidden(deps: HiddenDeps, request: HiddenRequest): Promise<HiddenSession | undefined> {
  const { owner, codec, conversation, links } = request
  const { steps: wire } = wireOf(codec.format)
  const admission = wire.admits(codec.fields(conversation))
  const isOurs = ownedNames(deps.tools.names(conversation.settings.model), conversation)
  // A client that has a reader of ours, over MCP, or a tool of its own with that name needs no other.
  const mayDeclare = admission !== 'no' && isOurs(COMPACT_READER.name) && readersIn(conversation.tools).size === 0
  // Without tools of the client's own some providers refuse calls in the history.
  if (!mayDeclare && conversation.tools.length === 0) return undefined

  const withSteps = async (): Promise<string> => {
    const wanted = new Set(await deps.steps.chains(owner))
    const byIndex = new Map<number, readonly HiddenStep[]>()
    for (const link of wanted.size === 0 ? [] : links) {
      if (!wanted.has(link.chain)) continue
      const answer = await deps.steps.answer(owner, link.chain)
      const items = answerAfter(conversation.items, link)
      if (answer === undefined || items.length === 0 || signOf(items) !== answer.sign) continue
      byIndex.set(conversation.items[link.index]!.message + 1, answer.steps)
    }
    return insertSteps(request.text, wire, byIndex)
  }

  const text = await withSteps()
  if (!mayDeclare && text === request.text) return undefined
  const tools = readerTools(deps.tools.names(conversation.settings.model).filter(isOurs))
  const list = listOf(conversation)
  let standing = mayDeclare ? await deps.steps.declared(owner, list) : undefined
  const offer = (): ToolOffer => ({
    tools: mayDeclare ? tools : [],
    ...(standing !== undefined && { declared: standing.tools, withEpoch: standing.withEpoch ?? false }),
    isClosed: admission === 'closed',
  })
  const taken: HiddenStep[] = []
  let visible = 0
  let transcript = text
  return {
    text,
    conversation: text === request.text ? conversation : request.decode(text),
    offer: offer(),
    async declared({ declared, epoch }) {
      const isNew = standing === undefined || declared.some((name) => !standing!.tools.includes(name))
      if (!mayDeclare || !isNew || (admission === 'closed' && declared.length === 0)) return
      const withEpoch = epoch !== undefined && standing !== undefined
      standing = { tools: declared, ...(withEpoch && { withEpoch }) }
      await deps.steps.declare(owner, list, standing)
    },
    stream: () => wire.stream(mayDeclare ? isOurs : () => false),
    partsOf: (body) => wire.partsOf(body),
    assemble: (bodies, parts) => wire.assemble(bodies, parts),
    isHidden: (part) => mayDeclare && wire.callOf(part, isOurs) !== undefined,
    async take(parts) {
      const own = mayDeclare ? parts.filter((part) => wire.callOf(part, isOurs) !== undefined) : []
      const others = parts.filter((part) => !own.includes(part))
      const before = visible + parts.slice(0, parts.indexOf(own[0]!)).length
      visible += others.length
      if (own.length === 0) return undefined
      const results: Fields[] = []
      for (const part of own) {
        const call = wire.callOf(part, isOurs)!
        results.push(wire.resultOf(call, await runHiddenTool(deps.tools, request, call)))
      }
      // Whoever calls a tool that is not declared any more is answered with the client's next request.
      const isOver = taken.length >= MAX_HIDDEN_STEPS
      const beside = isOver || others.some((part) => wire.isCall(part))
      taken.push({ at: beside ? before : visible, calls: own, results, beside })
      if (beside) return undefined
      transcript = appendHistory(transcript, wire, wire.continuation(parts, results))
      return { text: transcript, offer: { ...offer(), withheld: taken.length >= MAX_HIDDEN_STEPS } }
    },
    async done(response) {
      const chain = links.at(-1)?.chain
      if (taken.length === 0 || chain === undefined || response === undefined) return
      await deps.steps.remember(owner, chain, { steps: taken, sign: signOf(response.items) })
    },
  }
}

/**
 * Names that are answered here: readers that the client has no tool of the same name for, declared or called before. A model that calls one
 * which this request does not declare, because it saw it earlier, is answered all the same: nobody else could.
 */
function ownedNames(names: readonly string[], { tools, items }: Conversation): IsOurs {
  const ours = new Set([...names, ...COMPACT_READS])
  for (const { name } of tools) ours.delete(name)
  for (const { kind, toolName } of items) if (kind === 'call' && toolName !== undefined) ours.delete(toolName)
  return (name) => ours.has(name)
}

/** The client's own list of tools, by content. */
const listOf = ({ tools }: Conversation): string =>
  sha256Text(JSON.stringify(tools.map(({ text }) => text)), 'hex').slice(0, 32)
