import type { EventBus } from '../ports/event-bus.ts'
import { type OpenEventsOptions, storeSchemeOf } from './store-schemes.ts'

/** The bus of everybody who shares the store at this address. */
export const openEvents = (store: string, options: OpenEventsOptions = {}): EventBus =>
  storeSchemeOf(store).events(store, options)
