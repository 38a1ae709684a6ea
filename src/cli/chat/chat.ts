import { isRecord, type Fields } from '../../core/values.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { PlimsollEvent } from '../../core/events.ts'
import type { Policy } from '../../core/policy.ts'
import type { LearnedLimit, Target } from '../../core/target.ts'
import { amendedCatalogue } from '../../drivers/catalogue/catalogue.ts'
import type { PlimsollSettings } from '../../settings/index.ts'
import { learnedLimits, lessonOf, within } from '../../engine/learning/learned-limits.ts'
import { isVendor } from '../../formats/endpoints.ts'
import type { Compaction } from '../../engine/session/session.ts'
import type { PreparedTurn, PrepareRequest } from '../../engine/prepare/prepare.ts'
import type { Session } from '../../engine/session/session.ts'
import type { Budget } from '../../meter/index.ts'
import { createPlimsoll } from '../../compose/plimsoll.ts'
import { systemClock } from '../../ports/clock.ts'
import type { Stores } from '../stores.ts'
import { askOnce, askModel, SizeRefused, type Answered, type Provider } from './model.ts'
import { createRedactor } from '../../engine/redaction/redactor.ts'
import { newChatId, openJournal, type Journal } from './journal.ts'
import { type Entry, type ToolCall, type ToolDeclared, writeChat } from '../../formats/wire/chat.ts'
import { knownModels } from '../catalogue.ts'
import { grouped, dollars } from '../kit/figures.ts'
import { type Screen, wrapped } from '../kit/output.ts'

export const TENANT = 'local'
export const SESSION_BUDGET = 'session'

/** What a chat tells while it works. */
export interface ChatView {
  onWait(label: string): void
  onText(text: string): void
  onNotice(text: string): void
  onCall(call: ToolCall): void
  onResult(call: ToolCall, shown: string, isError: boolean): void
  onEvent(event: PlimsollEvent): void
}

/** Runs one call of the model's and says what goes into the conversation. Never throws. */
export type RunTool = (
  call: ToolCall,
  signal: AbortSignal,
) => Promise<{ readonly text: string; readonly isError: boolean; readonly exempt: boolean }>

interface ChatSetup {
  readonly stores: Stores
  readonly chatsFolder: string
  readonly cwd: string
  readonly system: string
  readonly tools: readonly ToolDeclared[]
  readonly runTool: RunTool
  readonly view: ChatView
  readonly provider: Provider
  /** By its name; `settings` knows what it means. */
  readonly policy: string
  readonly settings: ChatSettings
  readonly window?: number
  readonly budgetUsd?: number
  readonly sessionId?: string
}

/** What a settings file says, as far as a chat has a use for it. */
export interface ChatSettings extends Pick<PlimsollSettings, 'summarizer' | 'models' | 'budgets' | 'redact'> {
  /** @throws PlimsollError for a name that nobody knows. */
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

/** An agent on the engine's three verbs. */
export interface Chat {
  readonly setup: ChatSetup
  state(): ChatState
  /** One turn: the model answers, its tools run, until it has nothing more to call. */
  send(text: string, signal: AbortSignal): Promise<void>
  /** Reduces now, and says from where to where, or why not. */
  compact(instructions: string): Promise<Exclude<Compaction, { status: 'with-next-request' }>>
  change(wish: { provider?: Provider; policy?: string; budgetUsd?: number; sessionId?: string }): Promise<void>
}

const MOST_STEPS = 60
const MOST_OUTPUT = 8_192

export function createChat(setup: ChatSetup): Chat {
  const { stores, view } = setup
  const { policyOf, summarizer, models = {}, budgets: given = [], redact = false } = setup.settings
  const redactor = redact ? createRedactor() : undefined
  const catalogue = amendedCatalogue(knownModels(), { overrides: models })
  const learned = learnedLimits(stores.sessions, systemClock)
  /** What this conversation is kept within, after the provider found it too large. */
  let refusedAt: LearnedLimit | undefined
  let { provider, policy } = setup
  let journal = openJournal(setup.chatsFolder, setup.sessionId ?? newChatId(), setup.cwd, redactor)
  if (setup.budgetUsd !== undefined) journal.setBudget(setup.budgetUsd)
  let session = openSession()

  /** A session's own; one that nobody gave any has what the flag says. */
  function budgetOf(): number | undefined {
    return journal.budgetUsd ?? setup.budgetUsd
  }

  function openSession(): Session {
    const budgetUsd = budgetOf()
    const budgets: readonly Budget[] = [
      ...given,
      ...(budgetUsd === undefined
        ? []
        : [{ name: SESSION_BUDGET, scope: 'session', unit: 'usd', hard: budgetUsd } as const]),
    ]
    const plimsoll = createPlimsoll({
      store: stores.sessions,
      artifacts: stores.artifacts,
      secret: stores.secret,
      policy: policyOf(policy),
      catalogue,
      redact,
      ...(summarizer !== undefined && { summarizer }),
      ...(budgets.length > 0 && { budgets }),
      onEvent: view.onEvent,
    })
    return plimsoll.session({ id: journal.id, tenant: TENANT })
  }

  function bodyOf(entries: readonly Entry[]): string {
    const { info } = catalogue.resolve(provider.model)
    const window = setup.window ?? provider.window ?? info.window
    const maxOutputTokens = Math.min(MOST_OUTPUT, info.maxOutputTokens ?? MOST_OUTPUT, Math.floor(window / 8))
    const { system, tools } = setup
    return writeChat(provider.wire, { model: provider.model, system, tools, entries, maxOutputTokens })
  }

  async function target(): Promise<Target> {
    const { model, baseUrl: endpoint } = provider
    const window = setup.window ?? provider.window
    const lesson = await learned.of({ tenant: TENANT, endpoint, model })
    const asked: Target = {
      model,
      endpoint,
      refusesOverflow: isVendor(endpoint),
      ...(window !== undefined && { window }),
      ...(lesson !== undefined && { learned: lesson }),
    }
    return refusedAt === undefined ? asked : within(asked, refusedAt)
  }

  async function prepare(signal: AbortSignal): Promise<PreparedTurn> {
    view.onWait('preparing')
    return session.prepare(await request(signal))
  }

  const request = async (signal?: AbortSignal): Promise<PrepareRequest> => ({
    format: provider.wire.id,
    body: bodyOf(journal.entries),
    targets: [await target()],
    send(call) {
      view.onWait('summarising')
      const stops = signal === undefined ? call.signal : AbortSignal.any([call.signal, signal])
      return askOnce(provider, provider.wire.codec, { ...call, signal: stops })
    },
  })

  /** prepare → ask → record. A request that the provider finds too large is reduced once more. */
  async function step(signal: AbortSignal): Promise<Answered | undefined> {
    for (let attempt = 1; ; attempt++) {
      const turn = await prepare(signal)
      // A halted turn was never opened: there is nothing to record.
      if (turn.verdict.kind === 'halt') {
        throw new PlimsollError('budget-exceeded', `The budget of this session is used up: ${turn.verdict.reason}.`, {
          advice: '/budget raises it.',
        })
      }
      view.onWait(turn.verdict.kind === 'final' ? 'closing answer' : 'waiting for the model')
      try {
        const answered = await askModel({
          provider,
          codec: provider.wire.codec,
          body: turn.text,
          headers: turn.headers,
          signal,
          onText: view.onText,
          onRetry: (reason, waitMs) => view.onNotice(`${reason}; trying again in ${Math.round(waitMs / 1000)} s`),
        })
        const { usage } = answered.response
        await session.record({ turn: turn.id, ...(usage !== undefined && { usage }) })
        return answered
      } catch (error) {
        await session.record({ turn: turn.id, refused: true })
        if (signal.aborted) return undefined
        if (!(error instanceof SizeRefused)) throw error
        const { kind, limit, input } = error.refusal
        if (attempt > 1 || (kind !== 'overflow' && kind !== 'body-size')) throw tooLarge(error)
        const lesson = lessonOf(
          { kind, ...(limit !== undefined && { limit }), ...(input !== undefined && { input }) },
          { tokens: turn.load.count.high, outputReserve: turn.limit.outputReserve, bytes: turn.load.bytes },
        )
        if (lesson.retry === undefined) throw tooLarge(error)
        const place = { tenant: TENANT, endpoint: provider.baseUrl, model: provider.model }
        if (lesson.learned !== undefined) await learned.learn(place, lesson.learned, 'refusal')
        refusedAt = lesson.retry
        view.onNotice('The provider found the request too large; it is reduced and sent again.')
      }
    }
  }

  async function answerCalls(calls: readonly ToolCall[], signal: AbortSignal): Promise<void> {
    for (const call of calls) {
      view.onCall(call)
      const { text, isError, exempt } = signal.aborted
        ? { text: 'Not run: the user stopped the turn.', isError: true, exempt: true }
        : await setup.runTool(call, signal)
      const shown = exempt
        ? text
        : (await session.toolResult({ tool: call.name, callId: call.id, output: text, model: provider.model })).text
      journal.add({ type: 'result', callId: call.id, name: call.name, text: shown, isError })
      view.onResult(call, shown, isError)
    }
  }

  return {
    setup,
    state: () => ({ provider, policy, budgetUsd: budgetOf(), journal, session }),
    async send(text, signal) {
      journal.add({ type: 'user', text })
      for (let steps = 0; steps < MOST_STEPS; steps++) {
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
    async compact(instructions) {
      const nothing = { status: 'nothing', reason: 'nothing was said yet', before: 0, after: 0 } as const
      if (journal.entries.length === 0) return nothing
      view.onWait('compacting')
      const done = await session.compact({ instructions, request: await request() })
      return done.status === 'with-next-request' ? nothing : done
    },
    async change(wish) {
      provider = wish.provider ?? provider
      refusedAt = undefined
      policy = wish.policy ?? policy
      if (wish.sessionId !== undefined) journal = openJournal(setup.chatsFolder, wish.sessionId, setup.cwd, redactor)
      if (wish.budgetUsd !== undefined) journal.setBudget(wish.budgetUsd)
      session = openSession()
    },
  }
}

function tooLarge(cause: SizeRefused): PlimsollError {
  return new PlimsollError('overflow', 'The provider refuses the request for its size, also after it was reduced.', {
    cause,
    advice: 'Set the real window with --window, or choose a model with a larger one.',
  })
}

/** Calls of an answer that was stopped may be half an argument; they are left out. */
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
  return { type: 'assistant', text, calls, ...(raw !== undefined && !stopped && { raw: { wire, value: raw } }) }
}

function inputOf(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    return isRecord(value) ? value : { value }
  } catch {
    return { invalid: text }
  }
}

const HARD_SPACE = '\u00A0'

/** Used / limit, percent, latest turn, average, compaction threshold, turns left, cost: after each turn. Breaks between figures. */
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
