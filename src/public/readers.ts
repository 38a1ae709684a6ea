/** `plimsoll/readers`: reads, searches and queries artifacts without a session. */
export {
  artifactReaders,
  type ArtifactReaders,
  type ArtifactReadersOptions,
} from '../engine/readers/artifact-readers.ts'
export { readerProvenance } from '../engine/readers/reader.ts'
