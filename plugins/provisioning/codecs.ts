import * as t from 'io-ts'
import type { TeamId, UserId } from '../../core/kernel/ids.ts'
import {
  answer,
  described,
  freeText,
  naming,
  FreeObjectCodec,
  optional,
  OrgPathName,
  pathId,
  plainValue,
  QueryInt,
  request,
  SafeInteger,
} from '../kit/codecs.ts'
import type { Attribute } from './scim/attributes.ts'
import {
  commonAttributes,
  enterpriseAttributes,
  enterpriseSchema,
  groupAttributes,
  userAttributes,
} from './scim/attributes.ts'

export const DirectoryPath = request({ orgname: OrgPathName }, 'DirectoryPath')
export const DirectoryUserPath = request(
  {
    orgname: OrgPathName,
    id: described(pathId<UserId>('provisioned user'), 'The id of the user, which is that of the account.'),
  },
  'DirectoryUserPath',
)
export const DirectoryGroupPath = request(
  {
    orgname: OrgPathName,
    id: described(pathId<TeamId>('provisioned group'), 'The id of the group, which is that of the team.'),
  },
  'DirectoryGroupPath',
)
export const SchemaPath = request(
  {
    orgname: OrgPathName,
    id: described(naming(freeText(200, 1), 'schema of SCIM', 'id'), 'The URN of the schema.'),
  },
  'SchemaPath',
)
export const ResourceTypePath = request(
  {
    orgname: OrgPathName,
    id: described(naming(freeText(200, 1), 'resource type of SCIM', 'id'), 'The name of the kind: User or Group.'),
  },
  'ResourceTypePath',
)

const projection = {
  attributes: described(
    optional(plainValue(freeText(2000))),
    'The attributes that the answer has, separated by commas; all if absent. `id` and `schemas` are always there.',
  ),
  excludedAttributes: described(
    optional(plainValue(freeText(2000))),
    'The attributes that the answer lacks, separated by commas; none if absent.',
  ),
}
export const ProjectionParameters = request(projection, 'ProjectionParameters')
export const ListParameters = request(
  {
    ...projection,
    filter: described(
      optional(plainValue(freeText(2000))),
      'A filter of RFC 7644, such as `userName eq "ada@example.com"`; all resources if absent.',
    ),
    startIndex: described(optional(QueryInt), 'The first resource of the page, from 1; 1 if absent.'),
    count: described(optional(QueryInt), 'The most resources of the page, at most 200; 100 if absent.'),
  },
  'ListParameters',
)

const capital = (name: string): string => name.replace(/^\W*(\w)/, (_, letter: string) => letter.toUpperCase())

const valueCodec = ({ name, type, isList, parts = [] }: Attribute, prefix: string): t.Type<unknown> => {
  const one =
    type === 'complex' ? objectOf(parts, `${prefix}${capital(name)}`) : type === 'boolean' ? t.boolean : t.string
  return (isList === true ? t.readonlyArray(one as t.Mixed) : one) as t.Type<unknown>
}

const fieldsOf = (attributes: readonly Attribute[], prefix: string): t.Props =>
  Object.fromEntries(
    attributes.map((attribute) => [
      attribute.name,
      described(optional(valueCodec(attribute, prefix)), `${attribute.description} Absent if it is not set.`),
    ]),
  )

const objectOf = (attributes: readonly Attribute[], name: string): t.Type<unknown> =>
  answer(fieldsOf(attributes, name), name) as t.Type<unknown>

/** A user as the directory reads it. */
export const ScimUser = answer(
  {
    ...fieldsOf([...commonAttributes, ...userAttributes], 'ScimUser'),
    [enterpriseSchema]: described(
      optional(objectOf(enterpriseAttributes, 'ScimEnterpriseUser')),
      'What companies say of a user; absent if nothing is set.',
    ),
  },
  'ScimUser',
) as unknown as t.Type<Readonly<Record<string, unknown>>>

/** A group as the directory reads it. */
export const ScimGroup = answer(
  fieldsOf([...commonAttributes, ...groupAttributes], 'ScimGroup'),
  'ScimGroup',
) as unknown as t.Type<Readonly<Record<string, unknown>>>

const listOf = <A>(item: t.Type<A>, name: string) =>
  answer(
    {
      schemas: described(t.readonlyArray(t.string), 'The URN of lists.'),
      totalResults: described(SafeInteger, 'The number of all resources that meet the filter.'),
      startIndex: described(SafeInteger, 'The first resource of the page, from 1.'),
      itemsPerPage: described(SafeInteger, 'The number of resources of the page.'),
      Resources: described(t.readonlyArray(item), 'The resources of the page.'),
    },
    name,
  )
export const ScimUserList = listOf(ScimUser, 'ScimUserList')
export const ScimGroupList = listOf(ScimGroup, 'ScimGroupList')
/** A document of discovery, in the form of RFC 7643. */
export const ScimDocument = FreeObjectCodec
export const ScimDocumentList = listOf(FreeObjectCodec, 'ScimDocumentList')

const meta = (resourceType: string, location: string) => ({
  resourceType,
  created: '2026-11-21T08:00:00.000Z',
  lastModified: '2026-11-21T08:00:00.000Z',
  location: `https://platform.example/api/v1/scim/v2/organizations/analytical-engines/${location}`,
  version: '"5-0"',
})

export const newUserExample = {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  userName: 'ada@example.com',
  externalId: '7f3d',
  displayName: 'Ada Lovelace',
  emails: [{ value: 'ada@example.com', type: 'work', primary: true }],
  active: true,
}
export const userExample = { ...newUserExample, id: '12', meta: meta('User', 'Users/12') }
export const newGroupExample = {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
  displayName: 'Platform team',
  members: [{ value: '12' }],
}
export const groupExample = {
  ...newGroupExample,
  id: '40',
  members: [{ value: '12', type: 'User' }],
  meta: meta('Group', 'Groups/40'),
}
export const listExample = (resource: object) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults: 1,
  startIndex: 1,
  itemsPerPage: 1,
  Resources: [resource],
})
export const patchExample = (operation: object) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations: [operation],
})
