import { createHash } from 'node:crypto'
import type { Hash } from '../../src/core/identity.ts'

export const sha256: Hash = (text) => createHash('sha256').update(text).digest('hex')
