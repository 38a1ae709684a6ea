/** `plimsoll/readers`: artifacts read, searched and queried without a session. */
export {
  artifactReaders,
  type ArtifactReaders,
  type ArtifactReadersOptions,
} from '../engine/readers/artifact-readers.ts'
export { readerProvenance } from '../engine/readers/reader.ts'
