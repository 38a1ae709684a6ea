import type { ByteSeal } from '../crypto/byte-seal.ts'
import type { Migration, SchemaPart } from '../postgres/migrate.ts'

/*
 * `tenant`, `tool` and `session` are keyed hashes; `stat` is the artifact's description as it was first put. EXTERNAL keeps
 * the bytes uncompressed, so that the server reads only the part that a range asks for.
 */
const MIGRATIONS: readonly Migration[] = [
  {
    name: 'artifacts and their references',
    statements: [
      `CREATE TABLE artifacts (
         tenant text COLLATE "C" NOT NULL, handle text COLLATE "C" NOT NULL, bytes bigint NOT NULL, stat text NOT NULL,
         tool text COLLATE "C", session text COLLATE "C", created_at bigint NOT NULL, used_at bigint NOT NULL, body bytea NOT NULL,
         PRIMARY KEY (tenant, handle))`,
      'ALTER TABLE artifacts ALTER COLUMN body SET STORAGE EXTERNAL',
      'CREATE INDEX artifacts_by_age ON artifacts (tenant, created_at DESC, handle)',
      `CREATE TABLE artifact_marks (
         tenant text COLLATE "C" NOT NULL, session text COLLATE "C" NOT NULL, handle text COLLATE "C" NOT NULL,
         PRIMARY KEY (tenant, session, handle))`,
      'CREATE INDEX artifact_marks_by_handle ON artifact_marks (tenant, handle)',
    ],
  },
]

export const artifactTables = (seal: ByteSeal): SchemaPart => ({ name: 'artifacts', migrations: MIGRATIONS, seal })
