import { messageOf } from '../../core/values.ts'
import { SYSTEM_TENANT } from '../../core/handles.ts'
import type { EventBody, EventSink, PlimsollEvent } from '../../core/events.ts'
import { CLAUDE_CODE, type Hash } from '../../core/identity.ts'
import { shortSha256 } from '../../drivers/crypto/sha256.ts'
import { designLogFile, printDebugTopics, eventLog, readLogLevel } from '../../drivers/logs/event-log.ts'
import { openStore } from '../../drivers/open-store.ts'
import { createMemo, noMemo, type Memo } from '../../engine/memo/memo.ts'
import { redactingStore } from '../../engine/redaction/borders.ts'
import { createRedactor, type Redactor } from '../../engine/redaction/redactor.ts'
import type { PlimsollOptions } from '../../settings/options.ts'
import { systemClock, type Clock } from '../../ports/clock.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { createLedger, type Ledger } from '../ledger.ts'
import { cacheSizes } from '../cache-sizes.ts'
import { defaultStore } from '../home.ts'

/** The parts that all others use: the store, the clock, and the event listeners. */
export interface Foundation {
  readonly clock: Clock
  readonly sessions: SessionStore
  /** The store for content; with `redact`, it removes secrets first. */
  readonly content: SessionStore
  readonly redactor: Redactor | undefined
  /** The store's URL; undefined when the store is a driver object. */
  readonly storeUrl: string | undefined
  readonly hash: Hash
  readonly memo: Memo
  readonly ledger: Ledger
  readonly emit: EventSink
  /** Sends an event that belongs to no tenant. */
  readonly note: (body: EventBody) => void
  on(listener: EventSink): () => void
  /** Closes the store, then the log file. */
  readonly closings: readonly (() => Promise<void>)[]
}

export function openFoundation(options: PlimsollOptions): Foundation {
  const clock = options.clock ?? systemClock
  const storeUrl = typeof options.store === 'object' ? undefined : (options.store ?? defaultStore())
  // Without a given clock, a shared database times leases by its own clock: the machines' clocks may differ.
  const given = options.clock === undefined ? {} : { clock: options.clock }
  const sessions = typeof options.store === 'object' ? options.store : openStore(storeUrl!, given)
  const { redact = false } = options
  const redactor = redact === false ? undefined : createRedactor(redact === true ? {} : redact)
  const listeners = new Set<EventSink>(options.onEvent === undefined ? [] : [options.onEvent])
  const warned = new WeakSet<EventSink>()
  // A listener that throws is reported once and does not affect other listeners or the request.
  const emit = (event: PlimsollEvent): void => {
    for (const listener of listeners) {
      try {
        listener(event)
      } catch (error) {
        if (warned.has(listener)) continue
        warned.add(listener)
        const message = messageOf(error)
        process.emitWarning(`Plimsoll: a listener failed on ${event.type}: ${message}`)
      }
    }
  }
  const ledger = createLedger({ startedAt: clock.now() })
  listeners.add((event) => ledger.take(event))
  const logFile = options.logFile === undefined ? undefined : designLogFile(options.logFile)
  if (logFile !== undefined) listeners.add(logFile.take)
  if (process.env['CONTEXT_DEBUG'] === 'true') listeners.add(printDebugTopics((text) => process.stderr.write(text)))
  const level = options.logLevel ?? process.env['PLIMSOLL_LOG_LEVEL']
  if (level !== undefined && level !== '')
    listeners.add(eventLog(readLogLevel(level), (line) => process.stderr.write(line)))
  const hash: Hash = (text) => shortSha256(text, 40)
  return {
    clock,
    sessions,
    content: redactor === undefined ? sessions : redactingStore(sessions, redactor),
    redactor,
    storeUrl,
    hash,
    memo: (options.memo === false ? noMemo : createMemo)({
      hash,
      profile: CLAUDE_CODE,
      bodyBytes: cacheSizes(options.memoryBytes).bodies,
    }),
    ledger,
    emit,
    note: (body) => emit({ ...body, at: clock.now(), tenant: SYSTEM_TENANT, session: '' }),
    on(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    closings: [async () => sessions.close(), async () => logFile?.close()],
  }
}
