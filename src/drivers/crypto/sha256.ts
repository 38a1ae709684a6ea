import crypto from 'node:crypto'

export const sha256Text = (body: string | Uint8Array, encoding: 'hex' | 'base64url'): string =>
  crypto.hash('sha256', body, encoding)

/** The first characters of it, as a text of their own: a part of a text keeps all of it in memory, and hashes are kept by the hundred thousand. */
export const shortSha256 = (body: string, characters: number): string =>
  Buffer.from(sha256Text(body, 'hex').slice(0, characters), 'latin1').toString('latin1')
