import { readFileSync } from 'node:fs'
import { PlimsollError } from '../../core/errors.ts'

export interface KeySettings {
  /** 64 hex digits or 32 bytes of base64, e.g. from PLIMSOLL_KEY. */
  readonly key?: string | undefined
  /** A file with the same, e.g. from PLIMSOLL_KEY_FILE. */
  readonly keyFile?: string | undefined
}

/** The key of the encryption at rest, or undefined when none is set up. Never part of an error. */
function loadKey(settings: KeySettings): Uint8Array | undefined {
  const { key, keyFile } = settings
  if (key !== undefined && keyFile !== undefined) {
    throw new PlimsollError('bad-config', 'Two encryption keys are set, one directly and one as a file.', {
      advice: 'Keep one.',
    })
  }
  if (key !== undefined) return parseKey(key, 'The encryption key')
  if (keyFile === undefined) return undefined
  try {
    return parseKey(readFileSync(keyFile, 'utf8'), `The encryption key in ${keyFile}`)
  } catch (error) {
    if (error instanceof PlimsollError) throw error
    throw new PlimsollError('bad-config', `The key file ${keyFile} cannot be read.`, { cause: error })
  }
}

export const keyFromEnvironment = (environment: Readonly<Record<string, string | undefined>>): Uint8Array | undefined =>
  loadKey({ key: environment['PLIMSOLL_KEY'], keyFile: environment['PLIMSOLL_KEY_FILE'] })

function parseKey(text: string, what: string): Uint8Array {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return Buffer.from(trimmed, 'base64')
  throw new PlimsollError('bad-config', `${what} is neither 64 hex digits nor 32 bytes of base64.`, {
    advice: 'Make one with `openssl rand -hex 32`.',
  })
}
