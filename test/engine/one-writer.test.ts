import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ENGINE = resolve(import.meta.dirname, '../../src/engine')

/**
 * Who changes what a branch remembers. The types keep everybody from assigning (`#private` fields, readonly interfaces); this table says
 * who may ask a record to change, by its name in `Branch`.
 */
const WRITERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  log: {
    absorb: ['session/restore.ts'],
    reached: ['session/restore.ts'],
    begin: ['session/restore.ts'],
  },
  standing: {
    follow: ['session/restore.ts'],
    take: ['epoch/announce-epoch.ts', 'prepare/stages/reduce.ts', 'prepare/stages/resolve-standing.ts'],
    orphan: ['prepare/stages/resolve-standing.ts'],
  },
  requests: {
    prepared: ['prepare/finish-turn.ts'],
    rose: ['epoch/needs-epoch.ts'],
    forgetTrail: ['session/session.ts'],
  },
  turns: {
    newId: ['prepare/finish-turn.ts'],
    open: ['prepare/finish-turn.ts'],
    close: ['session/record.ts'],
  },
  artifacts: {
    referenced: ['store-admin/retention.ts'],
    countWrite: ['store-admin/retention.ts'],
  },
  toolUse: { is: ['prepare/finish-turn.ts', 'tool-results/tool-result.ts'] },
  outbox: {
    addRecords: ['session/degraded.ts'],
    addEpoch: ['session/degraded.ts'],
    addArtifact: ['session/degraded.ts'],
    failed: ['session/degraded.ts'],
    answered: ['session/degraded.ts'],
    take: ['session/degraded.ts'],
  },
  wish: {
    ask: ['epoch/compact.ts', 'session/restore.ts'],
    answer: ['epoch/make-epoch.ts', 'session/restore.ts'],
  },
  background: {
    start: ['epoch/background-summary.ts'],
    drop: ['epoch/background-summary.ts', 'epoch/make-epoch.ts'],
  },
  memo: {
    keepEpochView: ['memo/epoch-view-memo.ts'],
    keepEditedPrefix: ['memo/edited-prefix-memo.ts'],
    keepArchived: ['session/archive.ts'],
  },
}

const sources = new Map(
  readdirSync(ENGINE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [file, readFileSync(join(ENGINE, file), 'utf8')]),
)

const callersOf = (record: string, method: string): string[] => {
  const call = new RegExp(`\\b${record}\\.${method}\\(`)
  return [...sources]
    .filter(([file, text]) => !file.startsWith('session/branch/') && call.test(text))
    .map(([file]) => file)
    .sort()
}

describe('what a branch remembers', () => {
  const branch = sources.get('session/branch/branch.ts')!

  it('is a set of records that nobody replaces', () => {
    const [, body] = /export interface Branch extends BranchOwner \{(.*?)\n\}/s.exec(branch)!
    const fields = [...body!.matchAll(/^ {2}(readonly )?(\w+)/gm)].map(([, readonly, name]) => [name, readonly])
    expect(fields.filter(([, readonly]) => readonly === undefined)).toEqual([])
    expect(new Set(fields.map(([name]) => name))).toEqual(new Set([...Object.keys(WRITERS), 'inOrder']))
  })

  it.each(
    Object.entries(WRITERS).flatMap(([record, methods]) =>
      Object.entries(methods).map(([method, callers]) => ({ record, method, callers })),
    ),
  )('$record.$method is called by $callers', ({ record, method, callers }) => {
    expect(callersOf(record, method)).toEqual(callers)
  })
})
