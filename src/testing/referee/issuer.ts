import { createHmac, timingSafeEqual } from 'node:crypto'

/** Seals opaque content so that only the same issuer opens it, unchanged. */
export interface Issuer {
  readonly name: string
  seal(content: string, binding?: Binding): string
  open(seal: string): OpenedSeal | undefined
}

/** Reads the claim of a seal without its key; whether it is true only its issuer knows. */
export function peekSeal(seal: string): Binding | undefined {
  const text = Buffer.from(seal, 'base64').toString()
  try {
    return JSON.parse(text.slice(text.indexOf('.') + 1)) as Binding
  } catch {
    return undefined
  }
}

export interface Binding {
  readonly model?: string
  /** Hash of everything before the sealed block. */
  readonly prefix?: string
  /** Tokens that the sealed content stands for, when the client cannot see it. */
  readonly tokens?: number
}

export interface OpenedSeal extends Binding {
  matches(content: string): boolean
}

/** Issuers with the same name share their key, also across processes: a restarted referee knows its own seals. */
export function createIssuer(name: string): Issuer {
  const mac = (text: string): Buffer => createHmac('sha256', `plimsoll-referee:${name}`).update(text).digest()
  return {
    name,
    seal(content, binding = {}) {
      const claim = JSON.stringify({ ...binding, content: mac(content).toString('base64url') })
      return Buffer.from(`${mac(claim).toString('base64url')}.${claim}`).toString('base64')
    },
    open(seal) {
      const text = Buffer.from(seal, 'base64').toString()
      // A seal is the exact text that was issued: base64 with other padding or blanks is not.
      if (Buffer.from(text).toString('base64') !== seal) return undefined
      const dot = text.indexOf('.')
      const claim = text.slice(dot + 1)
      const given = Buffer.from(text.slice(0, Math.max(0, dot)), 'base64url')
      const expected = mac(claim)
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      const { content, ...binding } = JSON.parse(claim) as Binding & { readonly content: string }
      return { ...binding, matches: (candidate) => mac(candidate).toString('base64url') === content }
    },
  }
}
