import type { Adapter, AdapterFactory, AdapterPayload, AllClientMetadata } from 'oidc-provider'
import { errors } from 'oidc-provider'
import type { OpenedRecord, ProtocolDirectory, ProtocolRecords } from '../../core/authorization-server/ports.ts'
import type { Application } from '../../core/authorization-server/types.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { fromWireJson, toWireJson } from '../../core/kernel/json.ts'
import { signingAlgorithm } from './key-factory.ts'
import { requestScope } from './request-scope.ts'
import { workloadClient } from './token-exchange.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Metadata of our own at a client. */
export const trustedProperty = 'is_trusted'

const metadataOf = ({ name, clientId, isPublic, isTrusted, addresses, robotId }: Application): AllClientMetadata => {
  const { redirectUris, postLogoutRedirectUris, backChannelLogoutUri } = addresses
  const hasRedirect = redirectUris.length > 0
  return {
    client_id: clientId,
    client_name: name,
    application_type: isPublic ? 'native' : 'web',
    redirect_uris: [...redirectUris],
    post_logout_redirect_uris: [...postLogoutRedirectUris],
    response_types: hasRedirect ? ['code'] : [],
    grant_types: [
      ...(hasRedirect ? ['authorization_code'] : []),
      'refresh_token',
      deviceGrant,
      ...(robotId === undefined ? [] : ['client_credentials']),
    ],
    token_endpoint_auth_method: isPublic ? 'none' : 'client_secret_basic',
    // The library demands one. Only digests are stored: `compareClientSecret` is our own.
    ...(isPublic ? {} : { client_secret: 'a digest is compared' }),
    id_token_signed_response_alg: signingAlgorithm,
    ...(backChannelLogoutUri === ''
      ? {}
      : { backchannel_logout_uri: backChannelLogoutUri, backchannel_logout_session_required: true }),
    [trustedProperty]: isTrusted,
  }
}

const refused = (): never => {
  throw new TypeError('clients are changed by the API only')
}

const clientStore = (directory: ProtocolDirectory): Adapter => ({
  async find(id) {
    const application = await directory.application(id)
    if (application === undefined) return workloadClient(id)
    requestScope.getStore()?.basis?.note(application.orgId ?? application.userId)
    return metadataOf(application)
  },
  upsert: refused,
  findByUid: refused,
  findByUserCode: refused,
  consume: refused,
  destroy: refused,
  revokeByGrantId: refused,
})

const payloadOf = (record: OpenedRecord | undefined): AdapterPayload | undefined => {
  requestScope.getStore()?.basis?.note(record?.userId)
  return record?.content as AdapterPayload | undefined
}

/** Returns the stores of the library over the records. The class of a model is the kind of its records. */
export const makeStores =
  (records: ProtocolRecords, directory: ProtocolDirectory): AdapterFactory =>
  (kind) => {
    if (kind === 'Client') return clientStore(directory)
    return {
      async upsert(id, payload, expiresIn) {
        // JSON has no undefined.
        const content = fromWireJson(toWireJson(payload)) as FreeObject
        const saved = await records.save(kind, id, content, expiresIn, requestScope.getStore()?.caller)
        if (saved === 'no-cluster') throw new errors.InvalidTarget('the account has no such cluster')
      },
      find: async (id) => payloadOf(await records.find(kind, id, requestScope.getStore()?.caller)),
      findByUid: async (uid) => payloadOf(await records.findByKey(kind, uid)),
      findByUserCode: async (code) => payloadOf(await records.findByKey(kind, code)),
      async consume(id) {
        if (!(await records.consume(kind, id))) throw new errors.InvalidGrant('it was used already')
      },
      async destroy(id) {
        await records.remove(kind, id)
        // Only a sign-out removes a session of the protocol.
        if (kind === 'Session') await requestScope.getStore()?.signOut?.()
      },
      revokeByGrantId: (grantId) => records.revokeGrant(grantId),
    }
  }
