/*
 * The attributes of SCIM resources (RFC 7643 §4) that this service keeps, each once: validation, discovery, filters and
 * PATCH follow from this list.
 */

type AttributeType = 'string' | 'boolean' | 'complex' | 'reference' | 'dateTime'

/** An attribute as RFC 7643 §7 characterizes it. By default it is an optional text that clients read and write. */
export interface Attribute {
  readonly name: string
  /** One sentence for the document `/Schemas`. */
  readonly description: string
  readonly type?: AttributeType
  readonly isList?: boolean
  readonly isRequired?: boolean
  /** Required unless another attribute has the value: discovery says so. */
  readonly isMostlyRequired?: boolean
  readonly isExact?: boolean
  readonly isReadOnly?: boolean
  /** Values of a list cannot be changed, only added and removed. */
  readonly isImmutable?: boolean
  readonly isUnique?: boolean
  readonly canonicalValues?: readonly string[]
  readonly referenceTypes?: readonly string[]
  readonly parts?: readonly Attribute[]
}

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const enterpriseSchema = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group'

const text = (name: string, description: string): Attribute => ({ name, description })

/** A list of values of which one is the primary one. */
const listOf = (
  name: string,
  description: string,
  canonicalValues: readonly string[],
  value: readonly Attribute[] = [text('value', `The value of one of the ${name}.`)],
): Attribute => ({
  name,
  description,
  type: 'complex',
  isList: true,
  parts: [
    ...value,
    { name: 'type', description: 'The use of the value.', canonicalValues },
    { name: 'primary', description: 'Whether it is the preferred value. At most one is.', type: 'boolean' },
  ],
})

/** The attributes of a user. */
export const userAttributes: readonly Attribute[] = [
  {
    name: 'userName',
    description: 'The name of the user in the directory, at most 254 characters; unique in the organization.',
    isRequired: true,
    isUnique: true,
  },
  {
    name: 'name',
    description: 'The parts of the name.',
    type: 'complex',
    parts: [
      text('formatted', 'The full name as it is shown.'),
      text('familyName', 'The family name.'),
      text('givenName', 'The given name.'),
      text('middleName', 'The middle names.'),
      text('honorificPrefix', 'The title before the name.'),
      text('honorificSuffix', 'The suffix after the name.'),
    ],
  },
  text('displayName', 'The name that is shown to others. It is the full name of the account.'),
  text('nickName', 'The casual name.'),
  text('title', 'The job title.'),
  text('userType', 'The relation to the organization, such as Employee.'),
  text('preferredLanguage', 'The preferred language, as in the header Accept-Language.'),
  text('locale', 'The locale for formats.'),
  text('timezone', 'The time zone, such as Europe/Oslo.'),
  {
    name: 'active',
    description: 'Whether the user has access. With false, sessions, tokens and streams end at the next request.',
    type: 'boolean',
  },
  {
    ...listOf(
      'emails',
      'The mail addresses. The primary one, or else the first, is that of the account.',
      ['work', 'home', 'other'],
      [{ name: 'value', description: 'The address.', isMostlyRequired: true }],
    ),
    // userName can be the address.
    isMostlyRequired: true,
  },
  listOf('phoneNumbers', 'The telephone numbers.', ['work', 'home', 'mobile', 'fax', 'pager', 'other']),
  listOf(
    'addresses',
    'The postal addresses.',
    ['work', 'home', 'other'],
    [
      text('formatted', 'The address as it is shown.'),
      text('streetAddress', 'The street and the number.'),
      text('locality', 'The city.'),
      text('region', 'The state or region.'),
      text('postalCode', 'The postal code.'),
      text('country', 'The country, as two letters of ISO 3166-1.'),
    ],
  ),
]

/** The attributes of the extension for companies (RFC 7643 §4.3). */
export const enterpriseAttributes: readonly Attribute[] = [
  text('employeeNumber', 'The number of the employee.'),
  text('costCenter', 'The cost centre.'),
  text('organization', 'The name of the company.'),
  text('division', 'The division.'),
  text('department', 'The department.'),
  {
    name: 'manager',
    description: 'The manager of the user.',
    type: 'complex',
    parts: [text('value', 'The id of the manager.'), text('displayName', 'The name of the manager.')],
  },
]

/** The attributes of a group. */
export const groupAttributes: readonly Attribute[] = [
  {
    name: 'displayName',
    description: 'The name of the group, unique in the organization. The name of its team is made from it.',
    isRequired: true,
    isUnique: true,
  },
  {
    name: 'members',
    description: 'The users in the group.',
    type: 'complex',
    isList: true,
    parts: [
      { name: 'value', description: 'The id of the user.', isImmutable: true },
      { name: '$ref', description: 'The user.', type: 'reference', referenceTypes: ['User'], isImmutable: true },
      { name: 'type', description: 'The kind of the member.', canonicalValues: ['User'], isImmutable: true },
    ],
  },
]

/** The attributes of every resource (RFC 7643 §3.1), which no schema lists. */
export const commonAttributes: readonly Attribute[] = [
  { name: 'id', description: 'The id, which never changes.', isExact: true, isReadOnly: true },
  { name: 'externalId', description: 'The id in the directory.', isExact: true },
  { name: 'schemas', description: 'The schemas of the resource.', isList: true },
  {
    name: 'meta',
    description: 'The time and place of the resource.',
    type: 'complex',
    isReadOnly: true,
    parts: [
      { name: 'resourceType', description: 'The kind of the resource.', isReadOnly: true },
      { name: 'created', description: 'The time of its creation.', type: 'dateTime', isReadOnly: true },
      { name: 'lastModified', description: 'The time of its last change.', type: 'dateTime', isReadOnly: true },
      { name: 'location', description: 'Its address.', type: 'reference', isReadOnly: true },
      { name: 'version', description: 'Its entity tag.', isReadOnly: true },
    ],
  },
]

/** A kind of resource: its schema with the extensions. */
export interface ResourceShape {
  readonly schema: string
  readonly attributes: readonly Attribute[]
  readonly extensions: Readonly<Record<string, readonly Attribute[]>>
}

export const userShape: ResourceShape = {
  schema: userSchema,
  attributes: userAttributes,
  extensions: { [enterpriseSchema]: enterpriseAttributes },
}

export const groupShape: ResourceShape = { schema: groupSchema, attributes: groupAttributes, extensions: {} }

/** An attribute that a path names, and where the resource has it. */
export interface Place {
  /** The keys of the resource: the extension if there is one, the attribute, and its part if the path names one. */
  readonly extension: string | undefined
  readonly attribute: Attribute
  readonly part: Attribute | undefined
}

const named = (attributes: readonly Attribute[], name: string): Attribute | undefined =>
  attributes.find((each) => each.name.toLowerCase() === name.toLowerCase())

/**
 * Finds the attribute of a path such as `userName`, `name.givenName`, `urn:…:User:userName` or
 * `urn:…:enterprise:2.0:User:manager.value`. Names are compared without regard to case (RFC 7644 §3.10).
 */
export const findAttribute = (shape: ResourceShape, path: string): Place | undefined => {
  const lower = path.toLowerCase()
  const extension = Object.keys(shape.extensions).find((urn) => lower.startsWith(`${urn.toLowerCase()}:`))
  const isOwn = lower.startsWith(`${shape.schema.toLowerCase()}:`)
  const rest = path.slice(extension !== undefined ? extension.length + 1 : isOwn ? shape.schema.length + 1 : 0)
  const [name = '', partName, ...more] = rest.split('.')
  if (more.length > 0) return undefined
  const attributes =
    extension === undefined ? [...commonAttributes, ...shape.attributes] : (shape.extensions[extension] ?? [])
  const attribute = named(attributes, name)
  if (attribute === undefined) return undefined
  const part = partName === undefined ? undefined : named(attribute.parts ?? [], partName)
  return partName !== undefined && part === undefined ? undefined : { extension, attribute, part }
}
