/**
 * A handle is the public address of an artifact: `art_` and 26 characters of Crockford's base32 over a keyed hash of
 * (tenant, content). Without the tenant's key it can be neither computed nor guessed, and it is never part of a path.
 */
export type Handle = string & { readonly __handle?: never }

const PREFIX = 'art_'
const BODY_LENGTH = 26
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const PATTERN = new RegExp(`${PREFIX}[${ALPHABET}]{${BODY_LENGTH}}`, 'g')
const WHOLE = new RegExp(`^${PREFIX}[${ALPHABET}]{${BODY_LENGTH}}$`)

/** `digest`: at least 17 bytes of a keyed hash. */
export function handleOf(digest: Uint8Array): Handle {
  let bits = 0
  let value = 0
  let out = ''
  for (const byte of digest) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5 && out.length < BODY_LENGTH) {
      out += ALPHABET[(value >>> (bits - 5)) & 31]
      bits -= 5
    }
    value &= (1 << bits) - 1
    if (out.length === BODY_LENGTH) break
  }
  return PREFIX + out
}

export const isHandle = (text: string): text is Handle => WHOLE.test(text)

export const mapHandles = (text: string, replacement: (handle: Handle) => string): string =>
  text.replace(PATTERN, replacement)

export function handlesIn(text: string): Handle[] {
  return [...new Set(text.match(PATTERN) ?? [])]
}

/** The tenant of Plimsoll's own logs and values: budget accounts, learned limits. Lists of sessions leave it out. */
export const SYSTEM_TENANT = 'plimsoll'
