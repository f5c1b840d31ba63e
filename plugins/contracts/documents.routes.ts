import * as t from 'io-ts'
import {
  DocumentLinkRefused,
  DocumentRefused,
  DocumentStoreDown,
  ContractDocumentMissing,
  ContractMissing,
} from '../../core/contracts/ports.ts'
import { anyone, requires, siteAdmin } from '../kit/access.ts'
import { described, naming, noted, patternText, queryIntFrom, request } from '../kit/codecs.ts'
import { binary, empty, json } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import { AdministeredContract, contractInPath, ContractPath, InAccount } from './codecs.ts'
import { documentBodyBytes, DocumentParams } from './terms-codecs.ts'
import { administeredExample } from './contract-wire.ts'

const tag = 'Licensing & Contracts'
const route = routesOf({ tag, scopeCategory: 'contract', params: ContractPath, failures: [ContractMissing] })
const linkExample =
  'https://platform.example/api/v1/contract-documents/0d6f1c5e-6a0f-4a53-9c39-5f1d2f6f2a11?expires=1767227400000&name=contract.pdf&type=application%2Fpdf&signature=xBTNDiBN6XT3N1PH4o12OOezaRu4saK6trJbt_7Xznc'
const linkWords =
  'A JSON string: a URL that is valid for 30 minutes for anyone who has it. The download is in the history ' +
  'of the contract.'
const Link = noted(t.string, { format: 'uri' })

export const linkDocument = route({
  id: 'contracts.linkDocument',
  method: 'GET',
  path: '/user/contracts/{id}/document',
  gate: 'vendor-hosted',
  summary: 'Get a link to the document of a contract',
  description: linkWords,
  query: InAccount,
  access: requires('can_view', contractInPath),
  ok: json(200, Link, linkExample),
  failures: [ContractDocumentMissing, DocumentStoreDown],
})

export const linkAnyDocument = route({
  id: 'contracts.linkAnyDocument',
  method: 'GET',
  path: '/contracts/{id}/document',
  summary: 'Get a link to the document of a contract of any account',
  description: linkWords,
  access: siteAdmin,
  ok: json(200, Link, linkExample),
  failures: [ContractDocumentMissing, DocumentStoreDown],
})

export const uploadDocument = route({
  id: 'contracts.uploadDocument',
  method: 'PUT',
  path: '/contracts/{id}/document',
  summary: 'Set the document of a contract',
  description:
    'A PDF, PNG or JPEG of at most 25 MiB; its content decides, not its name. As JSON with the bytes in ' +
    'base64, or as multipart/form-data with the file `document`. ' +
    'The previous document is removed, and its links end.',
  access: siteAdmin,
  body: body(
    DocumentParams,
    { document: 'JVBERi0xLjcK', fileName: 'contract.pdf' },
    { limitBytes: documentBodyBytes, orForm: true },
  ),
  ok: json(200, AdministeredContract, administeredExample),
  failures: [DocumentRefused, DocumentStoreDown],
})

export const removeDocument = route({
  id: 'contracts.removeDocument',
  method: 'DELETE',
  path: '/contracts/{id}/document',
  summary: 'Remove the document of a contract',
  description: 'Its links end, but for links of an object store, which end with their 30 minutes or with the document.',
  access: siteAdmin,
  ok: empty(200),
  failures: [ContractDocumentMissing],
})

const word = (pattern: RegExp, max: number, what: string) => patternText(pattern, max, what)

export const openDocument = routesOf({ tag, access: anyone })({
  id: 'contracts.openDocument',
  method: 'GET',
  path: '/contract-documents/{ref}',
  summary: 'Download a document by a signed link',
  description:
    'Always as a download. A link that has expired or was changed is 403. Links of an object store lead ' +
    'there, not here.',
  params: request(
    {
      ref: described(
        naming(word(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 36, 'a UUID'), 'document', 'ref'),
        'The reference of the document, as the link has it.',
      ),
    },
    'ContractDocumentPath',
  ),
  query: request(
    {
      expires: described(
        naming(queryIntFrom(0, Number.MAX_SAFE_INTEGER), 'document', 'expires'),
        'When the link ends, in milliseconds since the epoch.',
      ),
      name: described(
        naming(word(/^[^\p{Cc}/\\]{1,255}$/u, 255, 'a file name'), 'document', 'name'),
        'The file name of the download.',
      ),
      type: described(
        naming(word(/^[a-z]{1,20}\/[a-z0-9.+-]{1,60}$/, 81, 'a media type'), 'document', 'type'),
        'The media type of the document.',
      ),
      signature: described(
        naming(word(/^[\w-]{43}$/, 43, 'a signature'), 'document', 'signature'),
        'The signature of the link. It is over all other parts.',
      ),
    },
    'ContractDocumentLink',
  ),
  ok: binary(['application/pdf', 'image/png', 'image/jpeg']),
  failures: [DocumentLinkRefused, DocumentStoreDown],
})
