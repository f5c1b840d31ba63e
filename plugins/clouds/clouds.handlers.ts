import type * as t from 'io-ts'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { makeListBuckets } from '../../core/clouds/buckets.ts'
import type {
  makeListCredentials,
  makeShowCredential,
  makeCreateCredential,
  makeDeleteCredential,
  makeReplaceCredential,
} from '../../core/clouds/credentials.ts'
import type { CredentialForm } from '../../core/clouds/types.ts'
import { mapPage } from '../../core/kernel/page.ts'
import { handle, type BoundRoute } from '../kit/route.ts'
import { listBuckets, createCredential, deleteCredential, getCredential, listCredentials, replaceCredential } from './clouds.routes.ts'
import type { CloudCredentialApiForm } from './codecs.ts'

export interface CloudHandlers {
  readonly list: ReturnType<typeof makeListCredentials>
  readonly show: ReturnType<typeof makeShowCredential>
  readonly create: ReturnType<typeof makeCreateCredential>
  readonly replace: ReturnType<typeof makeReplaceCredential>
  readonly remove: ReturnType<typeof makeDeleteCredential>
  readonly buckets: ReturnType<typeof makeListBuckets>
}

type Wire = t.TypeOf<typeof CloudCredentialApiForm>

const toWire = ({ name, type, ownerId, createdAt, block, fields }: CredentialForm): Wire => {
  const common = { name, type, ownerID: ownerId, creationTimestamp: createdAt.toISOString() }
  return { ...common, ...(block === '' ? {} : { [block]: fields }) } as unknown as Wire
}

export const cloudHandlers = (h: CloudHandlers): readonly BoundRoute[] => [
  handle(listCredentials, async ({ call, query, page }) =>
    right(mapPage(await h.list(call, { types: query.credential_type, fleetEndpoint: query.fleet_endpoint }, page), toWire)),
  ),
  handle(createCredential, ({ call, body }) => h.create(call, body)),
  handle(replaceCredential, ({ call, body }) => h.replace(call, body)),
  handle(getCredential, async ({ call, params }) => {
    const found = await h.show(call, params.credName)
    return isLeft(found) ? found : right(toWire(found.right))
  }),
  handle(deleteCredential, ({ call, params }) => h.remove(call, params.credName)),
  handle(listBuckets, async ({ call, params, body }) => {
    const listed = await h.buckets(call, params.cloud, {
      credential: body.credential,
      gceProject: body.gce_project,
      clusterUid: body.cluster_uid,
      secretNamespace: body.secret_namespace,
      secretName: body.secret_name,
      provider: body.provider,
    })
    return isLeft(listed) ? listed : right({ names: listed.right })
  }),
]
