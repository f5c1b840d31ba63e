import * as t from 'io-ts'
import { OutageAccountMissing, OutageInvalid, OutageRecorded } from '../../core/usage/outages/outages.ts'
import { siteAdmin } from '../kit/access.ts'
import { json, packed } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  outageExample,
  outageReportExample,
  OutageReportQuery,
  SystemOutageApiForm,
  SystemOutageRequest,
  SystemOutagesAndReportAPIForm,
} from './codecs.ts'

const route = routesOf({ tag: 'Billing Dashboard', access: siteAdmin, scopeCategory: 'billing' })

export const recordOutage = route({
  id: 'usage.recordOutage',
  method: 'POST',
  path: '/dashboard/system-outages',
  summary: 'Record a time in which clusters could not be heard',
  description:
    'Clusters count as heard in it: all of them, those of one account, or one. Months that are final do not change.',
  body: body(SystemOutageRequest, {
    start: outageExample.start,
    end: outageExample.end,
    tags: ['network'],
    comments: outageExample.comments,
  }),
  ok: json(201, SystemOutageApiForm, outageExample, 'Created'),
  failures: [OutageInvalid, OutageAccountMissing, OutageRecorded],
})

export const getOutageReport = route({
  id: 'usage.getOutageReport',
  method: 'GET',
  path: '/dashboard/system-outages/report',
  summary: 'List outages, the newest first, with what they add up to',
  description: 'Those that end after `start`, of one account or cluster, and with one of `tags`. At most 10,000.',
  query: OutageReportQuery,
  ok: packed(json(200, SystemOutagesAndReportAPIForm, outageReportExample)),
})

export const listOutageTags = route({
  id: 'usage.listOutageTags',
  method: 'GET',
  path: '/dashboard/system-outages/tags',
  summary: 'List the tags of outages',
  description: 'Each tag once, by name.',
  ok: json(200, t.readonlyArray(t.string), ['network']),
})
