import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { ResourceMissing, SearchUnsupported } from '../../core/provisioning/ports.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import {
  getResourceType,
  getSchema,
  getServiceProviderConfig,
  listResourceTypes,
  listSchemas,
  searchResources,
} from './discovery.routes.ts'
import { baseOf } from './resource-wire.ts'
import { listResponse, resourceTypes, schemas, serviceProviderConfig } from './scim/discovery.ts'

const withId = (documents: readonly FreeObject[], id: string): Either<Failure<'ResourceMissing'>, FreeObject> => {
  const found = documents.find((each) => each['id'] === id)
  return found === undefined ? left(ResourceMissing('The document does not exist.')) : right(found)
}

/** Returns what was asked for: the documents are the same for every caller. */
const read = async <A>(_call: SignedInCall, document: Either<Failure<'ResourceMissing'>, A>) => document
const always = async <A>(_call: SignedInCall, document: A): Outcome<never, A> => right(document)

const refuseSearch = async (_call: SignedInCall<never>): Outcome<Failure<'SearchUnsupported'>, never> =>
  left(SearchUnsupported('Filter the list of users, or that of groups: /Users and /Groups.'))

/** The documents that say what is supported. */
export const discoveryGroup = defineGroup({
  needs: {},
  routes: () => [
    handle(getServiceProviderConfig, always<FreeObject>, {
      input: (request) => serviceProviderConfig(baseOf(request)),
    }),
    handle(listResourceTypes, always<ReturnType<typeof listResponse>>, {
      input: (request) => listResponse(resourceTypes(baseOf(request))),
    }),
    handle(getResourceType, read<FreeObject>, {
      input: (request) => withId(resourceTypes(baseOf(request)), request.params.id),
    }),
    handle(listSchemas, always<ReturnType<typeof listResponse>>, {
      input: (request) => listResponse(schemas(baseOf(request))),
    }),
    handle(getSchema, read<FreeObject>, {
      input: (request) => withId(schemas(baseOf(request)), request.params.id),
    }),
    handle(searchResources, refuseSearch),
  ],
})
