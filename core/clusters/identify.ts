import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccountId } from '../kernel/ids.ts'
import type { Entropy } from '../kernel/entropy.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { hex } from '../kernel/entropy.ts'
import type { SecretBox } from '../kernel/secret.ts'
import { factsOf } from './facts.ts'
import { credentialPlace } from './open-connection.ts'
import { AccessConfigRefused, type ClusterApi, type CredentialCodec, type KubeconfigParser, type ReachFailure } from './ports.ts'
import type { ClusterCredential, ClusterFacts } from './types.ts'

/** A cluster that answered to an access config, and how it is reached. */
export interface Identified {
  readonly credential: ClusterCredential
  readonly facts: ClusterFacts
}

export type IdentifyFailure = Failure<'AccessConfigRefused'> | ReachFailure

/** Reads an access config and looks at the cluster that it leads to. */
export const makeIdentify = (deps: { readonly parser: KubeconfigParser; readonly api: ClusterApi }) =>
  async (accessConfig: string | undefined, signal: AbortSignal): Outcome<IdentifyFailure, Identified> => {
    if (accessConfig === undefined || accessConfig.trim() === '')
      return left(AccessConfigRefused('An access config is needed: the text of a kubeconfig.'))
    const credential = deps.parser.parse(accessConfig)
    if (isLeft(credential)) return credential
    const survey = await deps.api.survey(credential.right, signal)
    return isLeft(survey) ? survey : right({ credential: credential.right, facts: factsOf(survey.right) })
  }
export type Identify = ReturnType<typeof makeIdentify>

/** Seals a credential for a record. The reference is kept for a record's life, or made for a new one. */
export const makeSealCredential = (deps: { readonly secretBox: SecretBox; readonly codec: CredentialCodec; readonly entropy: Entropy }) =>
  async (ownerId: AccountId, credential: ClusterCredential, ref = hex(deps.entropy.bytes(16))): Promise<{ readonly ref: string; readonly box: Uint8Array }> => ({
    ref,
    box: await deps.secretBox.seal(deps.codec.encode(credential), credentialPlace(ownerId, ref)),
  })
export type SealCredential = ReturnType<typeof makeSealCredential>
