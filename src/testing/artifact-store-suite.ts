import { contentCases } from './artifact-store/content-cases.ts'
import { quotaCases } from './artifact-store/quota-cases.ts'
import { retentionCases } from './artifact-store/retention-cases.ts'
import { durableCases, sharingCases } from './artifact-store/sharing-cases.ts'
import { caseOf, QUOTA_BYTES, type ArtifactStoreCase } from './artifact-store/subject.ts'
import { tenantCases } from './artifact-store/tenant-cases.ts'

export type { ArtifactStoreCase, ArtifactStoreSetup, MakeArtifactStore } from './artifact-store/subject.ts'

export interface ArtifactStoreSuiteOptions {
  /** The data outlives the store object. @default true */
  readonly durable?: boolean
  /** The driver takes a quota. @default true */
  readonly quota?: boolean
}

const ALWAYS = { ...contentCases, ...tenantCases, ...retentionCases, ...sharingCases }

/**
 * What every artifact store must do, as plain functions on `node:assert`: run them under any test runner.
 *
 * ```ts
 * for (const { name, run } of artifactStoreCases()) it(name, () => run(makeStore))
 * ```
 */
export function artifactStoreCases(options: ArtifactStoreSuiteOptions = {}): readonly ArtifactStoreCase[] {
  const { durable = true, quota = true } = options
  return [
    ...Object.entries(ALWAYS).map(([name, body]) => caseOf(name, body)),
    ...(durable ? Object.entries(durableCases).map(([name, body]) => caseOf(name, body)) : []),
    ...(quota ? Object.entries(quotaCases).map(([name, body]) => caseOf(name, body, QUOTA_BYTES)) : []),
  ]
}
