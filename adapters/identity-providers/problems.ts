import * as jose from 'jose'
import * as client from 'openid-client'
import { textAt } from '../../core/kernel/json.ts'

/** Why an answer is refused: a sentence for people, and what a support person needs of it. */
export interface AnswerProblem {
  readonly message: string
  readonly reason: string
}

const begin = 'Begin the sign-in again; if it fails again, those who run the provider have to look at it.'

/** By the codes of jose and the claims that it names. */
const claimSentences: Readonly<Record<string, string>> = {
  iss: 'The token of the provider is of another issuer than the one that is configured here.',
  aud: 'The token of the provider is for another service: its audience is not the client id of this one.',
  iat: "The provider's clock and that of this service differ by more than a minute. One of them must be set.",
  exp: 'The token of the provider has expired: its clock and that of this service differ, or it is too slow.',
  nonce: 'The token of the provider belongs to another sign-in.',
  sub: 'The token of the provider names no person.',
}

/** By the messages of the library, which has a code for each family only. */
const librarySentences: readonly (readonly [RegExp, string])[] = [
  [/"iss"|issuer/i, 'The answer is of another issuer than the one that is configured here, or does not name it.'],
  [/state/i, 'The answer belongs to another sign-in.'],
  [/nonce/i, 'The token of the provider belongs to another sign-in.'],
  [/"aud"|audience|"azp"/i, claimSentences['aud'] ?? ''],
  [/timestamp|"exp"|"iat"|"nbf"|expired|too far/i, claimSentences['iat'] ?? ''],
  [/"alg"|algorithm/i, 'The token of the provider is signed with an algorithm that is not accepted.'],
  [
    /id_token|ID Token/i,
    'The provider sent no ID token. The client must be one of OpenID Connect, with the scope openid.',
  ],
]

const word = (text: string): string => text.replaceAll(/[^a-z_]/g, '').slice(0, 40)

/** The errors of a token endpoint that are about the answer, and not about this service or the provider. */
const ofCode: ReadonlySet<string> = new Set(['invalid_grant', 'access_denied', 'invalid_scope'])

const problem = (message: string, error: unknown): AnswerProblem => ({
  message: `${message} ${begin}`,
  reason: String(error).slice(0, 500),
})

const ofJose = (error: jose.errors.JOSEError): AnswerProblem | undefined => {
  if (error instanceof jose.errors.JWKSTimeout || error instanceof jose.errors.JWKSInvalid) return undefined
  // jose reports an answer of the keys' address that is not 200 by its base class.
  if (error.code === jose.errors.JOSEError.code) return undefined
  if (error instanceof jose.errors.JWTExpired) return problem(claimSentences['exp'] ?? '', error)
  if (error instanceof jose.errors.JWTClaimValidationFailed)
    return problem(claimSentences[error.claim] ?? 'A claim of the token of the provider is not valid.', error)
  if (error instanceof jose.errors.JWKSNoMatchingKey || error instanceof jose.errors.JWKSMultipleMatchingKeys)
    return problem('The token of the provider is signed with a key that the provider does not publish.', error)
  if (error instanceof jose.errors.JOSEAlgNotAllowed || error instanceof jose.errors.JOSENotSupported)
    return problem('The token of the provider is signed with an algorithm that is not accepted.', error)
  return problem('The signature of the token of the provider is not valid.', error)
}

/**
 * Returns why an answer is refused. Undefined: nothing is wrong with the answer; the provider cannot be used, or does
 * not accept this service.
 */
export const answerProblem = (error: unknown): AnswerProblem | undefined => {
  if (error instanceof jose.errors.JOSEError) return ofJose(error)
  if (error instanceof client.ResponseBodyError)
    return ofCode.has(error.error)
      ? problem(`The provider does not accept the code of this sign-in (${word(error.error)}).`, error)
      : undefined
  if (error instanceof client.AuthorizationResponseError)
    return problem(`The provider refused the sign-in (${word(error.error)}).`, error)
  if (!(error instanceof client.ClientError)) return undefined
  const text = `${error.message} ${textAt(error, 'cause', 'message')}`
  if (/OAUTH_(?:HTTP|PARSE|RESPONSE_IS_NOT_JSON|RESPONSE_IS_NOT_CONFORM|TIMEOUT|ABORT)/.test(error.code ?? ''))
    return undefined
  const sentence = librarySentences.find(([pattern]) => pattern.test(text))?.[1]
  return sentence === undefined ? undefined : problem(sentence, error)
}
