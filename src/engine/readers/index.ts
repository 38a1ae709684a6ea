/** Readers of what was taken out, for models and programs. */
export { artifactReaders, type ArtifactReaders, type ArtifactReadersOptions } from './artifact-readers.ts'
export { readerProvenance, type ReaderProvenance } from './reader.ts'
export { callReader, READER_TOOLS } from './tools.ts'
