import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Item } from '../../../src/core/item.ts'
import { ranCommands } from '../../../src/engine/epoch/record/facts.ts'
import { loadFile } from '../../../src/lab/transcripts/load.ts'
import { sharedFolder } from '../../support/shared-data.ts'

/** By hand: in each recording the commands whose last run failed, whatever it says of a code. A pipe to `head` or `tail` makes no other command. */
const LABELS = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../fixtures/labels/failed-commands.json'), 'utf8'),
) as Readonly<Record<string, readonly string[]>>

describe('commands of recorded sessions that failed when they last ran', () => {
  it.each(Object.keys(LABELS))('are listed, and no other: %s', async (file) => {
    const { recordings } = await loadFile(join(sharedFolder('transcripts'), file), { resend: 'everything' })
    const items = recordings[0]!.messages.flatMap(({ parts }) => parts) as readonly unknown[] as readonly Item[]
    const failed = ranCommands(items).filter(({ exit }) => exit !== 0)
    expect(failed.map(({ command }) => command)).toEqual(LABELS[file])
  })
})
