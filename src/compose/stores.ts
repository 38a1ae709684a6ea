/** Stores by their address, and what an operator does with them. */
export { openArtifacts, type OpenArtifactsOptions } from '../drivers/open-artifacts.ts'
export { openEvents } from '../drivers/open-store.ts'
export { openStore, type OpenStoreOptions } from '../drivers/open-store.ts'
export { storeSecret } from '../drivers/crypto/tenant-name.ts'
export * from '../engine/store-admin/store-admin.ts'
