import * as t from 'io-ts'
import { OrganizationMissing } from '../../core/organizations/failures.ts'
import { PictureRefused, PicturesBusy } from '../../core/kernel/picture.ts'
import { path, read, requires, write } from '../kit/access.ts'
import { answer, Base64Bytes, freeText, optional, PathName, request } from '../kit/codecs.ts'
import { pictureBodyBytes, pictureExample, pictureUrlExample } from '../kit/picture.ts'
import { empty, json, orNoContent } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'

const tag = 'Identity - Organizations & Teams'
const organization = { type: 'organization', name: path('orgname') } as const
const OrganizationPath = request({ orgname: PathName }, 'OrganizationAvatarPath')

/** Either key: `image` as for a user's picture, `avatar` as in a form. */
const OrganizationAvatarOption = request(
  { image: optional(Base64Bytes), avatar: optional(Base64Bytes), source: optional(freeText(32)), gravatar: optional(freeText(255)), federavatar: optional(t.unknown) },
  'OrganizationAvatarOption',
)
const AvatarAddress = answer({ avatar: t.string }, 'OrganizationAvatar')

export const getOrganizationAvatar = defineRoute({
  id: 'organizations.getAvatar',
  method: 'GET',
  path: '/orgs/{orgname}/avatar',
  summary: "Tell where an organization's picture is",
  tag,
  access: requires('member', organization),
  scope: read('organization'),
  params: OrganizationPath,
  ok: json(200, t.string, pictureUrlExample),
  failures: [OrganizationMissing],
})

export const setOrganizationAvatar = defineRoute({
  id: 'organizations.setAvatar',
  method: 'POST',
  path: '/orgs/{orgname}/avatar',
  summary: 'Give an organization a picture',
  description:
    'As JSON with the bytes in base64 in `image`, which answers 204 as for a user, or in `avatar`, which answers the address; or as multipart/form-data with the file `avatar`. PNG, JPEG, GIF or WebP; it is drawn anew as a square PNG.',
  tag,
  access: requires('can_edit', organization),
  scope: write('organization'),
  params: OrganizationPath,
  body: body(OrganizationAvatarOption, { image: pictureExample }, { limitBytes: pictureBodyBytes, orForm: true }),
  ok: orNoContent(json(200, AvatarAddress, { avatar: pictureUrlExample })),
  failures: [PictureRefused, PicturesBusy, OrganizationMissing],
})

export const deleteOrganizationAvatar = defineRoute({
  id: 'organizations.deleteAvatar',
  method: 'DELETE',
  path: '/orgs/{orgname}/avatar',
  summary: "Take an organization's picture away",
  tag,
  access: requires('can_edit', organization),
  scope: write('organization'),
  params: OrganizationPath,
  ok: empty(204),
  failures: [OrganizationMissing],
})

export const discardOrganizationAvatar = defineRoute({
  id: 'organizations.discardAvatar',
  method: 'POST',
  path: '/orgs/{orgname}/avatar/delete',
  summary: "Take an organization's picture away",
  tag,
  access: requires('can_edit', organization),
  scope: write('organization'),
  params: OrganizationPath,
  ok: empty(200),
  failures: [OrganizationMissing],
})
