import { PlimsollError } from '../../core/errors.ts'

/** A store is sealed with one key for its whole life; another key, or none, must not add records that nobody can read. */
export function sealMismatch(where: string, stored: string, seal: { readonly name: string }): PlimsollError {
  if (stored === 'plain') {
    return new PlimsollError('bad-config', `The store ${where} is not encrypted, but a key was given.`, {
      advice: 'Export it and import it into a new store with the key.',
      fields: { store: where },
    })
  }
  const said = seal.name === 'plain' ? 'and no key was given' : 'with another key'
  return new PlimsollError('bad-config', `The store ${where} is encrypted ${said}.`, {
    advice: 'Give the key it was made with.',
    fields: { store: where },
  })
}
