import type { EventBus } from '../ports/event-bus.ts'
import { memoryEvents } from './events/memory.ts'
import { postgresEvents } from './events/postgres.ts'
import { sqliteEvents } from './events/sqlite.ts'
import { schemaOf, sqlitePath } from './open-store.ts'

export interface OpenEventsOptions {
  /** Whose events these are. @default a random name */
  readonly sender?: string
  /** Told when events could not be sent or heard; nothing else suffers from it. */
  readonly onTrouble?: (error: unknown) => void
}

/** The bus of everybody who shares the store at this address. */
export function openEvents(store: string, options: OpenEventsOptions = {}): EventBus {
  if (/^postgres(ql)?:/.test(store)) return postgresEvents({ ...options, ...schemaOf(store) })
  if (store.startsWith('sqlite:')) return sqliteEvents({ ...options, path: `${sqlitePath(store)}-events` })
  return memoryEvents(options)
}
