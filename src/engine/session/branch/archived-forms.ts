import type { ItemSeen } from '../../../core/records.ts'
import type { EngineDeps } from '../../deps.ts'

/**
 * Which items the archive holds, and in which forms. An item that comes back as a block instead of a string, with a cache mark or with
 * white space around it is the same item to the engine, and other bytes to whoever wants them back.
 */
export class ArchivedForms {
  /** Nearly every item has one form, and a set for each would take more room than all else that is known of it. */
  readonly #forms = new Map<string, string | Set<string>>()

  /** Some form of this identity. */
  has(identity: string): boolean {
    return this.#forms.has(identity)
  }

  /** `form`: hash of the item's bytes. */
  holds(identity: string, form: string): boolean {
    const known = this.#forms.get(identity)
    return typeof known === 'object' ? known.has(form) : known === form
  }

  add(identity: string, form: string): void {
    const known = this.#forms.get(identity)
    if (known === undefined) this.#forms.set(identity, form)
    else if (typeof known === 'object') known.add(form)
    else if (known !== form) this.#forms.set(identity, new Set([known, form]))
  }
}

/** What a form is known by: its bytes as the archive holds them. */
export const formOf = ({ hash, redact }: Pick<EngineDeps, 'hash' | 'redact'>, fragment: string): string =>
  hash(redact?.(fragment) ?? fragment)

/** Forms of records that this process has just made: nobody has to hash their bytes again to take them in. */
const made = new WeakMap<ItemSeen, string>()

export const noteForm = (record: ItemSeen, form: string): void => void made.set(record, form)
export const formIn = (record: ItemSeen): string | undefined => made.get(record)
