import { describeGoldens } from './describe-goldens.ts'

describeGoldens('bedrock-converse')
