import { BoundedMap } from '../../../lib/bounded-map.ts'
import type { Owners } from './siblings.ts'

/** Asked by a process, of its parent: whose are these conversations? */
export interface Question {
  readonly plimsollAsk: number
  readonly conversations: string
}

export interface Ruling {
  readonly plimsollRuling: number
  readonly owner: number
}

/** Conversations that the parent knows the owner of. A process knows fewer, so that it does not go by what the parent has forgotten. */
const MOST_RULED = 100_000
const MOST_KNOWN = 50_000

/** The parent's part: whoever asks first is the owner. */
export function registry(): (asker: number, conversations: string) => number {
  const owners = new BoundedMap<string, number>(MOST_RULED)
  return (asker, conversations) => {
    const owner = owners.get(conversations) ?? asker
    owners.set(conversations, owner)
    return owner
  }
}

export interface AskingOwners extends Owners {
  hear(ruling: Ruling): void
}

/** A process's part. `ask` sends a question; false when nobody is there to answer it: then all is its own. */
export function askingOwners(self: number, ask: (question: Question) => boolean): AskingOwners {
  const known = new BoundedMap<string, number>(MOST_KNOWN)
  const asked = new Map<number, (owner: number) => void>()
  let last = 0
  const foreign = (owner: number): number | undefined => (owner === self ? undefined : owner)
  return {
    ownerOf(conversations) {
      const owner = known.get(conversations)
      if (owner !== undefined) return foreign(owner)
      const id = ++last
      return new Promise((resolve) => {
        asked.set(id, (ruled) => {
          known.set(conversations, ruled)
          resolve(foreign(ruled))
        })
        if (ask({ plimsollAsk: id, conversations })) return
        asked.delete(id)
        resolve(undefined)
      })
    },
    hear({ plimsollRuling: id, owner }) {
      asked.get(id)?.(owner)
      asked.delete(id)
    },
  }
}
