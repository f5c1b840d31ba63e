import { ResourceMissing, SearchUnsupported } from '../../core/provisioning/ports.ts'
import { FreeObjectCodec } from '../kit/codecs.ts'
import { json } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import { DirectoryPath, listExample, ResourceTypePath, SchemaPath, ScimDocument, ScimDocumentList } from './codecs.ts'
import { resourceTypes, schemas, serviceProviderConfig } from './scim/discovery.ts'
import { inScim, root, scim, scimBody } from './scim-routes.ts'

const route = routesOf({ ...scim, params: DirectoryPath })
const base = 'https://platform.example/api/v1/scim/v2/organizations/analytical-engines'
const [typeExample = {}] = resourceTypes(base)
const schemaExample = { ...schemas(base)[2] }

export const getServiceProviderConfig = route({
  ...inScim,
  id: 'provisioning.getServiceProviderConfig',
  method: 'GET',
  path: `${root}/ServiceProviderConfig`,
  summary: 'Get what this service supports of SCIM',
  description: 'As RFC 7643 §5 says: filters, PATCH and entity tags are supported.',
  ok: json(200, ScimDocument, serviceProviderConfig(base)),
})

export const listResourceTypes = route({
  ...inScim,
  id: 'provisioning.listResourceTypes',
  method: 'GET',
  path: `${root}/ResourceTypes`,
  summary: 'List the kinds of resources',
  description: 'Users, with the extension for companies, and groups.',
  ok: json(200, ScimDocumentList, listExample(typeExample)),
})

export const getResourceType = route({
  ...inScim,
  id: 'provisioning.getResourceType',
  method: 'GET',
  path: `${root}/ResourceTypes/{id}`,
  summary: 'Get a kind of resources',
  description: 'By its name, User or Group.',
  params: ResourceTypePath,
  ok: json(200, ScimDocument, typeExample),
  failures: [ResourceMissing],
})

export const listSchemas = route({
  ...inScim,
  id: 'provisioning.listSchemas',
  method: 'GET',
  path: `${root}/Schemas`,
  summary: 'List the schemas of the resources',
  description: 'The attributes that this service keeps. Others are dropped.',
  ok: json(200, ScimDocumentList, listExample(schemaExample)),
})

export const getSchema = route({
  ...inScim,
  id: 'provisioning.getSchema',
  method: 'GET',
  path: `${root}/Schemas/{id}`,
  summary: 'Get a schema',
  description: 'By its URN.',
  params: SchemaPath,
  ok: json(200, ScimDocument, schemaExample),
  failures: [ResourceMissing],
})

export const searchResources = route({
  ...inScim,
  id: 'provisioning.search',
  method: 'POST',
  path: `${root}/.search`,
  summary: 'Search users and groups at once: not served',
  description: 'Answers 501, as RFC 7644 says of what is not served. Filter the list of users, or that of groups.',
  body: body(FreeObjectCodec, { schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'] }, scimBody),
  ok: json(200, ScimDocumentList, listExample(typeExample)),
  failures: [SearchUnsupported],
  statusOf: { SearchUnsupported: 501 },
})
