/** `plimsoll/stores`: opens stores by URL or by driver, and operator functions. Heavy libraries are loaded on first use. */
export { openArtifacts, type OpenArtifactsOptions } from '../drivers/open-artifacts.ts'
export { openStore, type OpenStoreOptions } from '../drivers/open-store.ts'
export { memoryStore } from '../drivers/sessions/memory.ts'
export { postgresStore } from '../drivers/sessions/postgres/index.ts'
export { sqliteStore } from '../drivers/sessions/sqlite/index.ts'
export { fileArtifacts } from '../drivers/artifacts/file.ts'
export { memoryArtifacts } from '../drivers/artifacts/memory.ts'
export { postgresArtifacts } from '../drivers/artifacts/postgres.ts'
export { s3Artifacts } from '../drivers/artifacts/s3/index.ts'
export { storeSecret } from '../drivers/crypto/tenant-name.ts'
export {
  exportStore,
  forkSession,
  importStore,
  migrateStore,
  pruneStore,
  storeStats,
  verifyStore,
  type PruneOptions,
  type PruneReport,
  type VerifyReport,
} from '../engine/store-admin/store-admin.ts'
