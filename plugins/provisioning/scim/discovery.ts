import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { Attribute } from './attributes.ts'
import {
  enterpriseAttributes,
  enterpriseSchema,
  groupAttributes,
  groupSchema,
  userAttributes,
  userSchema,
} from './attributes.ts'

const core = 'urn:ietf:params:scim:schemas:core:2.0:'

/** The most resources of one page. */
export const maxPage = 200

/** Returns the capabilities of the service (RFC 7643 §5). */
export const serviceProviderConfig = (base: string): FreeObject => ({
  schemas: [`${core}ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: maxPage },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Access token',
      description: 'An access token of a robot account of the organization, in the header Authorization.',
      specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
})

/** Returns the kinds of resources (RFC 7643 §6). */
export const resourceTypes = (base: string): readonly FreeObject[] =>
  [
    {
      id: 'User',
      endpoint: '/Users',
      description: 'A user of the directory, with an account of this service.',
      schema: userSchema,
      schemaExtensions: [{ schema: enterpriseSchema, required: false }],
    },
    {
      id: 'Group',
      endpoint: '/Groups',
      description: 'A group of the directory, with a team of the organization.',
      schema: groupSchema,
      schemaExtensions: [],
    },
  ].map((type) => ({
    schemas: [`${core}ResourceType`],
    name: type.id,
    ...type,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${type.id}` },
  }))

const described = (attribute: Attribute): Json => ({
  name: attribute.name,
  type: attribute.type ?? 'string',
  multiValued: attribute.isList === true,
  description: attribute.description,
  required: attribute.isRequired === true || attribute.isMostlyRequired === true,
  mutability: attribute.isReadOnly === true ? 'readOnly' : attribute.isImmutable === true ? 'immutable' : 'readWrite',
  returned: 'default',
  ...(attribute.type === 'boolean' || attribute.type === 'complex' ? {} : { caseExact: attribute.isExact === true }),
  ...(attribute.type === 'complex' ? {} : { uniqueness: attribute.isUnique === true ? 'server' : 'none' }),
  ...definedFields({
    canonicalValues: attribute.canonicalValues,
    referenceTypes: attribute.referenceTypes,
    subAttributes: attribute.parts?.map(described),
  }),
})

/** Returns the schemas of the resources (RFC 7643 §7). */
export const schemas = (base: string): readonly FreeObject[] =>
  (
    [
      [userSchema, 'User', 'A user of the directory.', userAttributes],
      [enterpriseSchema, 'EnterpriseUser', 'What companies say of a user.', enterpriseAttributes],
      [groupSchema, 'Group', 'A group of the directory.', groupAttributes],
    ] as const
  ).map(([id, name, description, attributes]) => ({
    schemas: [`${core}Schema`],
    id,
    name,
    description,
    attributes: attributes.map(described),
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  }))

/** Returns a list as SCIM sends it (RFC 7644 §3.4.2). */
export const listResponse = (resources: readonly FreeObject[], total = resources.length, startIndex = 1) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
})
