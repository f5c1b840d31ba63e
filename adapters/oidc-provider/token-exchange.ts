import { isLeft } from 'fp-ts/lib/Either.js'
import type { AllClientMetadata, KoaContextWithOIDC, Provider } from 'oidc-provider'
import { errors } from 'oidc-provider'
import type { TokenExchange } from '../../core/authorization-server/workloads/ports.ts'
import { textAt } from '../../core/kernel/json.ts'
import { secret } from '../../core/kernel/secret.ts'
import { isRobotLogin } from '../../core/organizations/ports.ts'
import { requestScope } from './request-scope.ts'

const grant = 'urn:ietf:params:oauth:grant-type:token-exchange'
const tokenType = 'urn:ietf:params:oauth:token-type:'
/** The types of subject tokens: each is a JSON Web Token here. */
const subjectTypes = [`${tokenType}jwt`, `${tokenType}id_token`, `${tokenType}access_token`]

/**
 * The client of a workload is the robot account by its login. It authenticates by nothing but the token that it
 * exchanges. No application has a plus sign in its client id.
 */
export const workloadClient = (clientId: string): AllClientMetadata | undefined =>
  isRobotLogin(clientId)
    ? {
        client_id: clientId,
        redirect_uris: [],
        response_types: [],
        grant_types: [grant],
        token_endpoint_auth_method: 'none',
      }
    : undefined

const optionalText = (text: string): string | undefined => (text === '' ? undefined : text)

/** Serves token exchange (RFC 8693) at the token endpoint. */
export const addTokenExchange = (provider: Provider, tokens: TokenExchange): void => {
  const handle = async (ctx: KoaContextWithOIDC): Promise<void> => {
    const params = ctx.oidc.params ?? {}
    const type = textAt(params, 'subject_token_type')
    if (!subjectTypes.includes(type))
      throw new errors.InvalidRequest(`subject_token_type must be one of ${subjectTypes.join(', ')}`)
    if (params['actor_token'] !== undefined) throw new errors.InvalidRequest('actor_token is not supported')
    const wanted = params['requested_token_type'] ?? `${tokenType}access_token`
    if (wanted !== `${tokenType}access_token`)
      throw new errors.InvalidRequest('requested_token_type: only access tokens are issued')
    const call = requestScope.getStore()?.call
    if (call === undefined) throw new Error('a token is exchanged outside of a request')
    const scope = textAt(params, 'scope')
    const exchanged = await tokens.exchange(call, {
      login: ctx.oidc.client?.clientId ?? '',
      subjectToken: secret(textAt(params, 'subject_token')),
      scopes: scope === '' ? undefined : scope.split(' '),
      resource: optionalText(textAt(params, 'resource')),
    })
    if (isLeft(exchanged)) {
      const { tag, message } = exchanged.left
      if (tag === 'WorkloadScopeRefused') throw new errors.InvalidScope(message, scope)
      if (tag === 'WorkloadTargetRefused') throw new errors.InvalidTarget(message)
      throw tag === 'IssuerUnavailable'
        ? new errors.TemporarilyUnavailable(message)
        : new errors.CustomOIDCProviderError('invalid_grant', message)
    }
    const { value, scopes, lifeSeconds } = exchanged.right
    ctx.body = {
      access_token: value.reveal(),
      issued_token_type: `${tokenType}access_token`,
      token_type: 'Bearer',
      expires_in: lifeSeconds,
      scope: scopes.join(' '),
    }
  }
  const names = ['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type', 'requested_token_type']
  provider.registerGrantType(grant, handle, [...names, 'scope', 'audience', 'resource'], [])
}
