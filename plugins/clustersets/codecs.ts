import * as t from 'io-ts'
import { DnsLabel, request } from '../kit/codecs.ts'

/** The cluster sets that are bound to each namespace. */
export const BoundNamespaces = t.record(t.string, t.readonlyArray(t.string))
export const BindNamespaceOptions = request({ clusterSet: DnsLabel, namespace: DnsLabel }, 'BindNamespaceOptions')
