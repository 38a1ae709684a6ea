/* `createChat` is long because all functions that it returns share one provider, policy and journal, which `change` replaces. */

import { isRecord, type Fields, parsedJson } from '../../core/values.ts'
import type { ItemSeen, LogRecord } from '../../core/records.ts'
import { type FoldedLog, foldLog } from '../../meter/session/log.ts'
import type { PlimsollEvent } from '../../core/events.ts'
import type { Policy } from '../../core/policy.ts'
import { amendedCatalogue } from '../../drivers/catalogue/catalogue.ts'
import type { PlimsollSettings } from '../../settings/index.ts'
import { isVendor } from '../../formats/endpoints.ts'
import type { CompactOptions, Compaction, Session } from '../../engine/session/session.ts'
import type { Budget } from '../../meter/index.ts'
import { createPlimsoll, type LiveOptions } from '../../plimsoll.ts'
import { AGENT_HEADER, SESSION_HEADER } from '../../gateway/identity.ts'
import type { Stores } from '../stores.ts'
import { askOnce, askModel, type Answered, type Provider } from './model.ts'
import { createRedactor } from '../../engine/redaction/redactor.ts'
import { newChatId, openJournal, type Journal } from './journal.ts'
import { type Entry, type ToolCall, type ToolDeclared, writeChat } from '../../formats/wire/chat.ts'
import { knownModels } from '../catalogue.ts'
import { grouped, dollars } from '../kit/figures.ts'
import { type Screen, wrapped } from '../kit/output.ts'

export const TENANT = 'local'
export const SESSION_BUDGET = 'session'

/** What a chat shows while it works. */
export interface ChatView {
  onWait(label: string): void
  onText(text: string): void
  onNotice(text: string): void
  onCall(call: ToolCall): void
  onResult(call: ToolCall, shown: string, isError: boolean): void
  onEvent(event: PlimsollEvent): void
  /** Shows what a compaction would leave, and asks whether to go on with it. */
  onCompaction?(preview: Compaction): Promise<boolean>
}

/** Runs one tool call of the model and returns the result for the conversation. Never throws. */
export type RunTool = (
  call: ToolCall,
  signal: AbortSignal,
) => Promise<{ readonly text: string; readonly isError: boolean }>

interface ChatSetup {
  readonly stores: Stores
  readonly chatsFolder: string
  readonly cwd: string
  readonly system: string
  readonly tools: readonly ToolDeclared[]
  readonly runTool: RunTool
  readonly view: ChatView
  readonly provider: Provider
  /** The policy's name, as `settings` knows it. */
  readonly policy: string
  readonly settings: ChatSettings
  readonly window?: number
  readonly budgetUsd?: number
  readonly sessionId?: string
  /** No compaction without a yes. */
  readonly approve?: boolean
}

export interface ChatSettings extends Pick<PlimsollSettings, 'summarizer' | 'models' | 'budgets' | 'redact'> {
  /** @throws PlimsollError for an unknown name. */
  policyOf(name: string): Policy
  readonly policyNames: readonly string[]
}

export interface ChatState {
  readonly provider: Provider
  readonly policy: string
  readonly budgetUsd: number | undefined
  readonly journal: Journal
  readonly session: Session
}

/** An agent that sends its whole history through `plimsoll.fetch` and reads the answer. */
export interface Chat {
  readonly setup: ChatSetup
  state(): ChatState
  /** One turn: the model answers and its tools run, until it makes no more calls. */
  send(text: string, signal: AbortSignal): Promise<void>
  /** Compacts now, or shows what that would leave. Returns the load before and after, or the reason why nothing was compacted. */
  compact(instructions: string, preview?: boolean): Promise<Exclude<Compaction, { status: 'with-next-request' }>>
  /** Items of the session's log, each in its newest form. */
  items(): Promise<readonly ItemSeen[]>
  /** The session's log. */
  log(): Promise<FoldedLog>
  change(wish: { provider?: Provider; policy?: string; budgetUsd?: number; sessionId?: string }): Promise<void>
  /** Writes the outbox and closes the stores. */
  close(): Promise<void>
}

const NOTHING_SAID = { status: 'nothing', reason: 'nothing was said yet', before: 0, after: 0 } as const
const MOST_STEPS = 60
const MOST_OUTPUT = 8_192

export function createChat(setup: ChatSetup): Chat {
  const { stores, view } = setup
  const { policyOf, summarizer, models = {}, budgets: given = [], redact = false } = setup.settings
  const redactor = redact ? createRedactor() : undefined
  const catalogue = amendedCatalogue(knownModels(), { overrides: models })
  let { provider, policy } = setup
  let journal = openJournal(setup.chatsFolder, setup.sessionId ?? newChatId(), setup.cwd, redactor)
  if (setup.budgetUsd !== undefined) journal.setBudget(setup.budgetUsd)
  const plimsoll = createPlimsoll({
    store: stores.sessions,
    artifacts: stores.artifacts,
    secret: stores.secret,
    catalogue,
    redact,
    summarizer,
    onEvent: view.onEvent,
    ...liveOptions(),
  })
  /** Readers that open only what was removed from this conversation, not from others in the store. */
  const readers = () => plimsoll.archive.readers({ tenant: TENANT, session: journal.id })
  const readerTools = readers().tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    parameters: inputSchema,
  }))
  const session = (): Session => plimsoll.session({ id: journal.id, tenant: TENANT })

  /** The session's own budget, else the one that the flag sets. */
  function budgetOf(): number | undefined {
    return journal.budgetUsd ?? setup.budgetUsd
  }

  function liveOptions(): LiveOptions {
    const budgetUsd = budgetOf()
    const own: Budget[] =
      budgetUsd === undefined ? [] : [{ name: SESSION_BUDGET, scope: 'session', unit: 'usd', hard: budgetUsd }]
    return { window: windowOf(), policy: policyOf(policy), budgets: [...given, ...own] }
  }

  function windowOf(): number | undefined {
    return setup.window ?? provider.window
  }

  function bodyOf(entries: readonly Entry[]): string {
    const { info } = catalogue.resolve(provider.model)
    const window = windowOf() ?? info.window
    const maxOutputTokens = Math.min(MOST_OUTPUT, info.maxOutputTokens ?? MOST_OUTPUT, Math.floor(window / 8))
    const { system } = setup
    const tools = [...setup.tools, ...readerTools]
    return writeChat(provider.wire, { model: provider.model, system, tools, entries, maxOutputTokens })
  }

  async function compactNow(options: Omit<CompactOptions, 'request'>): ReturnType<Chat['compact']> {
    const { model, baseUrl: endpoint, wire } = provider
    const targets = [{ model, endpoint, window: windowOf(), refusesOverflow: isVendor(endpoint) }]
    const send = (call: Parameters<typeof askOnce>[2]): ReturnType<typeof askOnce> =>
      askOnce(provider, wire.codec, call)
    const request = { format: wire.id, body: bodyOf(journal.entries), targets, send }
    const done = await session().compact({ ...options, request })
    return done.status === 'with-next-request' ? NOTHING_SAID : done
  }

  /** Whether the next request may be sent as it will be. */
  async function approved(): Promise<boolean> {
    if (setup.approve !== true) return true
    const preview = await compactNow({ preview: true, ifDue: true })
    if (preview.status !== 'preview') return true
    if ((await view.onCompaction?.(preview)) !== true) return false
    await compactNow({ ifDue: true })
    return true
  }

  /** If the provider refuses a request as too large, `plimsoll.fetch` reduces it and sends it again. */
  async function step(signal: AbortSignal): Promise<Answered | undefined> {
    view.onWait('waiting for the model')
    try {
      return await askModel({
        fetch: plimsoll.fetch,
        provider,
        codec: provider.wire.codec,
        body: bodyOf(journal.entries),
        headers: { [SESSION_HEADER]: journal.id, [AGENT_HEADER]: 'main' },
        signal,
        onText: view.onText,
        onNotice: view.onNotice,
      })
    } catch (error) {
      if (signal.aborted) return undefined
      throw error
    }
  }

  async function answerTo(call: ToolCall, signal: AbortSignal): ReturnType<RunTool> {
    const read = await readers().call({ name: call.name, input: call.input }, { signal })
    // The text was stored before, so it is not shortened and stored again.
    if (read !== undefined) return { text: read.text, isError: !read.ok }
    const { text, isError } = await setup.runTool(call, signal)
    const result = { tool: call.name, callId: call.id, output: text, model: provider.model }
    return { text: isError ? text : (await session().toolResult(result)).text, isError }
  }

  async function answerCalls(calls: readonly ToolCall[], signal: AbortSignal): Promise<void> {
    for (const call of calls) {
      view.onCall(call)
      const { text, isError } = signal.aborted
        ? { text: 'Not run: the user stopped the turn.', isError: true }
        : await answerTo(call, signal)
      journal.add({ type: 'result', callId: call.id, name: call.name, text, isError })
      view.onResult(call, text, isError)
    }
  }

  return {
    setup,
    state: () => ({ provider, policy, budgetUsd: budgetOf(), journal, session: session() }),
    async send(text, signal) {
      journal.add({ type: 'user', text })
      for (let steps = 0; steps < MOST_STEPS; steps++) {
        if (!(await approved()))
          return view.onNotice(
            'Stopped before the compaction; nothing was sent. /compact compacts, /pin keeps a message.',
          )
        const answered = await step(signal)
        if (answered === undefined) return view.onNotice('Stopped.')
        const entry = entryOf(answered, provider.wire.id)
        if (entry.text !== '' || entry.calls.length > 0) journal.add(entry)
        if (answered.stopped) return view.onNotice('Stopped; what had arrived is kept.')
        if (entry.calls.length === 0) return
        await answerCalls(entry.calls, signal)
        if (signal.aborted) return view.onNotice('Stopped.')
      }
      view.onNotice(`Stopped after ${MOST_STEPS} steps. Say "go on" to continue.`)
    },
    async compact(instructions, preview) {
      if (journal.entries.length === 0) return NOTHING_SAID
      view.onWait('compacting')
      return compactNow({ instructions, preview })
    },
    async items() {
      const items = new Map<string, ItemSeen>()
      for await (const record of plimsoll.archive.read(journal.id, { tenant: TENANT }))
        if (record.type === 'item-seen' && record.text !== '') items.set(record.identity, record)
      return [...items.values()]
    },
    async log() {
      const records: LogRecord[] = []
      for await (const record of plimsoll.archive.read(journal.id, { tenant: TENANT })) records.push(record)
      return foldLog(records)
    },
    async change(wish) {
      provider = wish.provider ?? provider
      policy = wish.policy ?? policy
      if (wish.sessionId !== undefined) journal = openJournal(setup.chatsFolder, wish.sessionId, setup.cwd, redactor)
      if (wish.budgetUsd !== undefined) journal.setBudget(wish.budgetUsd)
      plimsoll.reconfigure(liveOptions())
    },
    close: () => plimsoll.close(),
  }
}

/** The calls of an answer that the user stopped may be incomplete, so they are left out. */
function entryOf({ response, raw, stopped }: Answered, wire: string): Extract<Entry, { type: 'assistant' }> {
  const text = response.items
    .filter(({ kind }) => kind === 'assistant')
    .map((item) => item.text)
    .join('')
  const calls = stopped
    ? []
    : response.items
        .filter(({ kind, serverSide }) => kind === 'call' && serverSide !== true)
        .map((item, index): ToolCall => ({
          id: item.callId ?? `call_${index}`,
          name: item.toolName ?? 'unknown',
          input: inputOf(item.text),
        }))
  return { type: 'assistant', text, calls, raw: raw === undefined || stopped ? undefined : { wire, value: raw } }
}

function inputOf(text: string): Fields {
  const value = parsedJson(text === '' ? '{}' : text)
  if (value === undefined) return { invalid: text }
  return isRecord(value) ? value : { value }
}

const HARD_SPACE = '\u00A0'

/** The line after each turn: load and limit, percent, this turn, average, threshold, turns left, cost. Breaks between figures. */
export async function metricsLine(chat: Chat, screen: Pick<Screen, 'isTerminal' | 'width'>): Promise<string> {
  const { session, budgetUsd } = chat.state()
  const { used, limit, percent, threshold, turnsRemaining, lastTurn, spent } = await session.status()
  const figures = [
    `${grouped(used)} / ${grouped(limit)} tokens (${percent.toFixed(1)} %)`,
    ...(lastTurn === undefined
      ? ['no usage reported']
      : [`last ${grouped(lastTurn.input)} in, ${grouped(lastTurn.output)} out`, `avg ${grouped(lastTurn.average)}`]),
    `compacts at ${grouped(threshold)}`,
    ...(turnsRemaining === undefined ? [] : [`~${grouped(turnsRemaining)} turns left`]),
    budgetUsd === undefined ? dollars(spent.costUsd) : `${dollars(spent.costUsd)} of ${dollars(budgetUsd)}`,
  ]
  const whole = figures.map((figure) => figure.replaceAll(' ', HARD_SPACE)).join(`${HARD_SPACE}· `)
  return wrapped(whole, screen).replaceAll(HARD_SPACE, ' ')
}
