-- A database of release 2026.11.25 on MariaDB 10.11, made by the code of that release.
set foreign_key_checks = 0;
CREATE TABLE `access_tokens` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `user_id` bigint(20) unsigned NOT NULL,
  `name` varchar(255) NOT NULL,
  `token_hash` binary(32) NOT NULL,
  `last_eight` varchar(8) NOT NULL,
  `scopes` varchar(512) NOT NULL,
  `only_org_id` bigint(20) unsigned DEFAULT NULL,
  `created_by` bigint(20) unsigned DEFAULT NULL,
  `created_at` bigint(20) NOT NULL,
  `expires_at` bigint(20) DEFAULT NULL,
  `last_used_at` bigint(20) DEFAULT NULL,
  `warned_days` int(11) DEFAULT NULL,
  `only_cluster_id` bigint(20) unsigned DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `access_tokens_token_hash_unique` (`token_hash`),
  UNIQUE KEY `access_tokens_user_id_name_unique` (`user_id`,`name`),
  KEY `access_tokens_expires_at_index` (`expires_at`),
  KEY `access_tokens_only_org_id_index` (`only_org_id`),
  KEY `access_tokens_only_cluster_id_user_id_index` (`only_cluster_id`,`user_id`),
  CONSTRAINT `access_tokens_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `account_redirects` (
  `lower_name` varchar(40) NOT NULL,
  `account_id` bigint(20) unsigned NOT NULL,
  PRIMARY KEY (`lower_name`),
  KEY `account_redirects_account_id_foreign` (`account_id`),
  CONSTRAINT `account_redirects_account_id_foreign` FOREIGN KEY (`account_id`) REFERENCES `accounts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `accounts` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `kind` varchar(16) NOT NULL,
  `name` varchar(63) NOT NULL,
  `lower_name` varchar(63) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `avatar_digest` varchar(43) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `accounts_lower_name_unique` (`lower_name`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `allowed_domains` (
  `domain` varchar(253) NOT NULL,
  PRIMARY KEY (`domain`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `audit_events` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `at` bigint(20) NOT NULL,
  `tenant_id` bigint(20) unsigned NOT NULL,
  `actor_id` bigint(20) unsigned DEFAULT NULL,
  `actor_name` varchar(63) NOT NULL DEFAULT '',
  `impersonator_id` bigint(20) unsigned DEFAULT NULL,
  `impersonator_name` varchar(63) NOT NULL DEFAULT '',
  `method` varchar(16) NOT NULL,
  `token_id` bigint(20) unsigned DEFAULT NULL,
  `source_ip` varchar(45) NOT NULL,
  `request_id` varchar(64) NOT NULL,
  `operation` varchar(64) NOT NULL,
  `action` varchar(64) NOT NULL,
  `result` varchar(16) NOT NULL,
  `object_type` varchar(32) NOT NULL,
  `object_id` bigint(20) DEFAULT NULL,
  `object_name` varchar(255) NOT NULL DEFAULT '',
  `changes` text NOT NULL,
  `previous_hash` binary(32) NOT NULL,
  `hash` binary(32) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `audit_events_tenant_id_id_index` (`tenant_id`,`id`),
  KEY `audit_events_tenant_id_action_id_index` (`tenant_id`,`action`,`id`),
  KEY `audit_events_actor_id_id_index` (`actor_id`,`id`),
  KEY `audit_events_at_index` (`at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `audit_heads` (
  `tenant_id` bigint(20) unsigned NOT NULL,
  `hash` binary(32) NOT NULL,
  `base_hash` binary(32) DEFAULT NULL,
  `base_seal` binary(32) DEFAULT NULL,
  PRIMARY KEY (`tenant_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `avatars` (
  `account_id` bigint(20) unsigned NOT NULL,
  `digest` varchar(43) NOT NULL,
  `bytes` mediumblob NOT NULL,
  `created_at` bigint(20) NOT NULL,
  PRIMARY KEY (`account_id`),
  KEY `avatars_digest_index` (`digest`),
  CONSTRAINT `avatars_account_id_foreign` FOREIGN KEY (`account_id`) REFERENCES `accounts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `branding` (
  `id` int(11) NOT NULL,
  `logo` mediumtext NOT NULL,
  `favicon` mediumtext NOT NULL,
  `primary_color` varchar(7) NOT NULL,
  `show_app_tag` tinyint(1) NOT NULL,
  `app_name` varchar(64) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `bus_identities` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `kind` varchar(16) NOT NULL,
  `owner_id` bigint(20) unsigned NOT NULL,
  `public_key` varchar(64) NOT NULL,
  `ref` varchar(64) NOT NULL,
  `sealed_seed` mediumblob NOT NULL,
  `claims` mediumtext NOT NULL,
  `revision` bigint(20) NOT NULL,
  `pushed_revision` bigint(20) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `closed_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `bus_identities_public_key_unique` (`public_key`),
  UNIQUE KEY `bus_identities_kind_owner_id_unique` (`kind`,`owner_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `bus_users` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `identity_id` bigint(20) unsigned NOT NULL,
  `owner_id` bigint(20) unsigned NOT NULL,
  `purpose` varchar(32) NOT NULL,
  `public_key` varchar(64) NOT NULL,
  `owner_mark` varchar(64) NOT NULL,
  `issued_at` bigint(20) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  `revoked_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `bus_users_public_key_unique` (`public_key`),
  KEY `bus_users_expires_at_index` (`expires_at`),
  KEY `bus_users_owner_id_id_index` (`owner_id`,`id`),
  KEY `bus_users_identity_id_expires_at_index` (`identity_id`,`expires_at`),
  CONSTRAINT `bus_users_identity_id_foreign` FOREIGN KEY (`identity_id`) REFERENCES `bus_identities` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `chart_repositories` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `account_id` bigint(20) unsigned NOT NULL,
  `name` varchar(63) NOT NULL,
  `url` varchar(512) NOT NULL,
  `plain_http` tinyint(1) NOT NULL DEFAULT 0,
  `description` varchar(1000) NOT NULL DEFAULT '',
  `username` varchar(255) NOT NULL DEFAULT '',
  `holds` varchar(64) NOT NULL DEFAULT '',
  `ref` varchar(36) NOT NULL,
  `sealed_credentials` mediumblob DEFAULT NULL,
  `created_at` bigint(20) NOT NULL,
  `updated_at` bigint(20) NOT NULL,
  `version` bigint(20) NOT NULL DEFAULT 1,
  PRIMARY KEY (`id`),
  UNIQUE KEY `chart_repositories_account_id_name_unique` (`account_id`,`name`),
  CONSTRAINT `chart_repositories_account_id_foreign` FOREIGN KEY (`account_id`) REFERENCES `accounts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `cloud_credentials` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `user_id` bigint(20) unsigned NOT NULL,
  `name` varchar(253) NOT NULL,
  `type` varchar(32) NOT NULL,
  `owner_id` bigint(20) unsigned NOT NULL,
  `fleet_endpoint` varchar(512) NOT NULL DEFAULT '',
  `ref` varchar(36) NOT NULL,
  `sealed_spec` mediumblob NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `updated_at` bigint(20) NOT NULL,
  `version` bigint(20) NOT NULL DEFAULT 1,
  PRIMARY KEY (`id`),
  UNIQUE KEY `cloud_credentials_user_id_name_unique` (`user_id`,`name`),
  CONSTRAINT `cloud_credentials_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `clusters` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `owner_id` bigint(20) unsigned NOT NULL,
  `name` varchar(63) NOT NULL,
  `display_name` varchar(255) NOT NULL,
  `uid` varchar(64) NOT NULL,
  `external_id` varchar(255) NOT NULL DEFAULT '',
  `provider` varchar(32) NOT NULL,
  `vendor` varchar(64) NOT NULL DEFAULT '',
  `endpoint` varchar(512) NOT NULL,
  `location` varchar(128) NOT NULL DEFAULT '',
  `project` varchar(128) NOT NULL DEFAULT '',
  `kubernetes_version` varchar(64) NOT NULL DEFAULT '',
  `node_count` int(11) NOT NULL DEFAULT 0,
  `managers` int(11) NOT NULL DEFAULT 0,
  `hub_cluster_uid` varchar(64) NOT NULL DEFAULT '',
  `infra_namespace` varchar(63) NOT NULL DEFAULT '',
  `phase` varchar(16) NOT NULL,
  `phase_reason` varchar(32) NOT NULL DEFAULT '',
  `phase_message` varchar(1000) NOT NULL DEFAULT '',
  `impersonates_users` tinyint(1) NOT NULL DEFAULT 0,
  `ref` varchar(36) NOT NULL,
  `sealed_credential` mediumblob DEFAULT NULL,
  `created_at` bigint(20) NOT NULL,
  `checked_at` bigint(20) DEFAULT NULL,
  `imported_by` bigint(20) unsigned DEFAULT NULL,
  `version` bigint(20) NOT NULL DEFAULT 1,
  `managed_cluster_name` varchar(63) NOT NULL DEFAULT '',
  `cluster_set_name` varchar(63) NOT NULL DEFAULT '',
  PRIMARY KEY (`id`),
  UNIQUE KEY `clusters_owner_id_name_unique` (`owner_id`,`name`),
  KEY `clusters_uid_index` (`uid`),
  KEY `clusters_owner_id_hub_cluster_uid_index` (`owner_id`,`hub_cluster_uid`),
  CONSTRAINT `clusters_owner_id_foreign` FOREIGN KEY (`owner_id`) REFERENCES `accounts` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `contract_cluster_intervals` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `contract_id` bigint(20) unsigned NOT NULL,
  `cluster_uid` varchar(36) NOT NULL,
  `bound_from` bigint(20) NOT NULL,
  `bound_to` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `contract_cluster_intervals_contract_id_index` (`contract_id`),
  KEY `contract_cluster_intervals_cluster_uid_index` (`cluster_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `contract_cluster_tags` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `owner_id` bigint(20) unsigned NOT NULL,
  `cluster_uid` varchar(36) NOT NULL,
  `tags` text NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `contract_cluster_tags_owner_id_cluster_uid_unique` (`owner_id`,`cluster_uid`),
  CONSTRAINT `contract_cluster_tags_owner_id_foreign` FOREIGN KEY (`owner_id`) REFERENCES `accounts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `contract_clusters` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `contract_id` bigint(20) unsigned NOT NULL,
  `owner_id` bigint(20) unsigned NOT NULL,
  `cluster_uid` varchar(36) NOT NULL,
  `display_name` varchar(128) NOT NULL,
  `bound_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `contract_clusters_contract_id_cluster_uid_unique` (`contract_id`,`cluster_uid`),
  KEY `contract_clusters_owner_id_cluster_uid_contract_id_index` (`owner_id`,`cluster_uid`,`contract_id`),
  KEY `contract_clusters_cluster_uid_contract_id_index` (`cluster_uid`,`contract_id`),
  KEY `contract_clusters_contract_id_display_name_id_index` (`contract_id`,`display_name`,`id`),
  CONSTRAINT `contract_clusters_contract_id_foreign` FOREIGN KEY (`contract_id`) REFERENCES `contracts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `contract_document_removals` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `ref` varchar(64) NOT NULL,
  `due_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `contract_document_removals_ref_unique` (`ref`),
  KEY `contract_document_removals_due_at_index` (`due_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `contract_events` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `contract_id` bigint(20) unsigned NOT NULL,
  `event` varchar(32) NOT NULL,
  `added_by` varchar(254) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `terms_number` int(11) DEFAULT NULL,
  `effective_from` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `contract_events_contract_id_id_index` (`contract_id`,`id`),
  CONSTRAINT `contract_events_contract_id_foreign` FOREIGN KEY (`contract_id`) REFERENCES `contracts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `contract_terms` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `contract_id` bigint(20) unsigned NOT NULL,
  `number` int(11) NOT NULL,
  `from_at` bigint(20) NOT NULL,
  `to_at` bigint(20) DEFAULT NULL,
  `product` varchar(64) NOT NULL,
  `features` text NOT NULL,
  `quota` text NOT NULL,
  `restrictions` text NOT NULL,
  `starts_at` bigint(20) NOT NULL,
  `ends_at` bigint(20) NOT NULL,
  `allows_offline` tinyint(1) NOT NULL,
  `allows_trials` tinyint(1) NOT NULL,
  `max_trials` int(11) NOT NULL,
  `disables_analytics` tinyint(1) NOT NULL,
  `enables_client_billing` tinyint(1) NOT NULL,
  `recorded_at` bigint(20) NOT NULL,
  `recorded_by` varchar(254) NOT NULL,
  `superseded_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `contract_terms_contract_id_number_unique` (`contract_id`,`number`),
  KEY `contract_terms_contract_id_from_at_index` (`contract_id`,`from_at`),
  CONSTRAINT `contract_terms_contract_id_foreign` FOREIGN KEY (`contract_id`) REFERENCES `contracts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `contracts` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `owner_id` bigint(20) unsigned NOT NULL,
  `name` varchar(255) NOT NULL,
  `product` varchar(64) NOT NULL,
  `features` text NOT NULL,
  `emails` text NOT NULL,
  `quota` text NOT NULL,
  `restrictions` text NOT NULL,
  `starts_at` bigint(20) NOT NULL,
  `ends_at` bigint(20) NOT NULL,
  `allows_offline` tinyint(1) NOT NULL,
  `binds_new_clusters` tinyint(1) NOT NULL,
  `disables_analytics` tinyint(1) NOT NULL,
  `enables_client_billing` tinyint(1) NOT NULL,
  `document_ref` varchar(64) NOT NULL DEFAULT '',
  `document_name` varchar(255) NOT NULL DEFAULT '',
  `document_type` varchar(127) NOT NULL DEFAULT '',
  `document_size` bigint(20) NOT NULL DEFAULT 0,
  `revoked_at` bigint(20) DEFAULT NULL,
  `reminded_45_at` bigint(20) DEFAULT NULL,
  `reminded_10_at` bigint(20) DEFAULT NULL,
  `created_at` bigint(20) NOT NULL,
  `updated_at` bigint(20) NOT NULL,
  `version` bigint(20) NOT NULL DEFAULT 1,
  `terms_number` int(11) NOT NULL DEFAULT 1,
  `terms_from` bigint(20) NOT NULL DEFAULT 0,
  `terms_recorded_at` bigint(20) NOT NULL DEFAULT 0,
  `terms_recorded_by` varchar(254) NOT NULL DEFAULT '',
  `allows_trials` tinyint(1) NOT NULL DEFAULT 0,
  `max_trials` int(11) NOT NULL DEFAULT 0,
  `reminded_ends_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `contracts_owner_id_starts_at_id_index` (`owner_id`,`starts_at`,`id`),
  KEY `contracts_starts_at_id_index` (`starts_at`,`id`),
  KEY `contracts_ends_at_index` (`ends_at`),
  KEY `contracts_terms_from_index` (`terms_from`),
  CONSTRAINT `contracts_owner_id_foreign` FOREIGN KEY (`owner_id`) REFERENCES `accounts` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `email_search_terms` (
  `email_id` bigint(20) unsigned NOT NULL,
  `place` tinyint(4) NOT NULL,
  `term` varchar(254) NOT NULL,
  PRIMARY KEY (`email_id`,`place`,`term`),
  KEY `email_search_terms_place_term_email_id_index` (`place`,`term`,`email_id`),
  CONSTRAINT `email_search_terms_email_id_foreign` FOREIGN KEY (`email_id`) REFERENCES `emails` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `emails` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `user_id` bigint(20) unsigned NOT NULL,
  `email` varchar(254) NOT NULL,
  `lower_email` varchar(254) NOT NULL,
  `verified` tinyint(1) NOT NULL DEFAULT 0,
  `is_primary` tinyint(1) NOT NULL DEFAULT 0,
  `created_at` bigint(20) NOT NULL,
  `verified_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `emails_lower_email_unique` (`lower_email`),
  KEY `emails_user_id_id_index` (`user_id`,`id`),
  CONSTRAINT `emails_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `follows` (
  `user_id` bigint(20) unsigned NOT NULL,
  `target_id` bigint(20) unsigned NOT NULL,
  `created_at` bigint(20) NOT NULL,
  PRIMARY KEY (`user_id`,`target_id`),
  KEY `follows_target_id_user_id_index` (`target_id`,`user_id`),
  CONSTRAINT `follows_target_id_foreign` FOREIGN KEY (`target_id`) REFERENCES `users` (`id`) ON DELETE CASCADE,
  CONSTRAINT `follows_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `idempotency_records` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `key_hash` binary(32) NOT NULL,
  `request_hash` binary(32) NOT NULL,
  `state` varchar(16) NOT NULL,
  `status` int(11) DEFAULT NULL,
  `headers` text DEFAULT NULL,
  `body` mediumblob DEFAULT NULL,
  `created_at` bigint(20) NOT NULL,
  `instance_id` varchar(36) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `idempotency_records_key_hash_unique` (`key_hash`),
  KEY `idempotency_records_created_at_index` (`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `identity_attempts` (
  `key_hash` binary(32) NOT NULL,
  `points` int(11) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  PRIMARY KEY (`key_hash`),
  KEY `identity_attempts_expires_at_index` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `identity_codes` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `user_id` bigint(20) unsigned NOT NULL,
  `kind` varchar(24) NOT NULL,
  `lower_email` varchar(254) NOT NULL,
  `code_hash` binary(32) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  `closed_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `identity_codes_code_hash_unique` (`code_hash`),
  KEY `identity_codes_user_id_kind_index` (`user_id`,`kind`),
  KEY `identity_codes_lower_email_created_at_index` (`lower_email`,`created_at`),
  KEY `identity_codes_created_at_index` (`created_at`),
  CONSTRAINT `identity_codes_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `instances` (
  `id` varchar(36) NOT NULL,
  `beat_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `leases` (
  `name` varchar(64) NOT NULL,
  `holder` varchar(64) NOT NULL,
  `fence` bigint(20) NOT NULL,
  `until` bigint(20) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `license_authorities` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `certificate` text NOT NULL,
  `ref` varchar(36) NOT NULL DEFAULT '',
  `sealed_key` mediumblob DEFAULT NULL,
  `created_at` bigint(20) NOT NULL,
  `retired_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `licenses` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `serial` varchar(48) NOT NULL,
  `contract_id` bigint(20) unsigned NOT NULL,
  `owner_id` bigint(20) unsigned NOT NULL,
  `cluster_uid` varchar(36) NOT NULL,
  `kind` varchar(8) NOT NULL,
  `authority_id` bigint(20) unsigned NOT NULL,
  `not_before` bigint(20) NOT NULL,
  `not_after` bigint(20) NOT NULL,
  `content_key` varchar(64) NOT NULL,
  `certificate` text NOT NULL,
  `issued_at` bigint(20) NOT NULL,
  `issued_by` varchar(254) NOT NULL,
  `revoked_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `licenses_serial_unique` (`serial`),
  KEY `licenses_contract_id_cluster_uid_kind_id_index` (`contract_id`,`cluster_uid`,`kind`,`id`),
  KEY `licenses_authority_id_revoked_at_not_after_index` (`authority_id`,`revoked_at`,`not_after`),
  CONSTRAINT `licenses_authority_id_foreign` FOREIGN KEY (`authority_id`) REFERENCES `license_authorities` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `mail_outbox` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `ref` varchar(36) NOT NULL,
  `account_id` bigint(20) unsigned DEFAULT NULL,
  `sealed` mediumblob NOT NULL,
  `attempts` int(11) NOT NULL DEFAULT 0,
  `not_before` bigint(20) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `last_error` varchar(64) NOT NULL DEFAULT '',
  PRIMARY KEY (`id`),
  UNIQUE KEY `mail_outbox_ref_unique` (`ref`),
  KEY `mail_outbox_not_before_index` (`not_before`),
  KEY `mail_outbox_account_id_index` (`account_id`),
  CONSTRAINT `mail_outbox_account_id_foreign` FOREIGN KEY (`account_id`) REFERENCES `accounts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `object_grants` (
  `object_type` varchar(32) NOT NULL,
  `object_id` bigint(20) unsigned NOT NULL,
  `relation` varchar(64) NOT NULL,
  `subject_type` varchar(8) NOT NULL,
  `subject_id` bigint(20) unsigned NOT NULL,
  `org_id` bigint(20) unsigned NOT NULL,
  `created_at` bigint(20) NOT NULL,
  PRIMARY KEY (`object_type`,`object_id`,`subject_type`,`subject_id`,`relation`),
  KEY `object_grants_org_id_index` (`org_id`),
  KEY `object_grants_subject_type_subject_id_index` (`subject_type`,`subject_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `org_invitation_teams` (
  `invitation_id` bigint(20) unsigned NOT NULL,
  `team_id` bigint(20) unsigned NOT NULL,
  PRIMARY KEY (`invitation_id`,`team_id`),
  KEY `org_invitation_teams_team_id_index` (`team_id`),
  CONSTRAINT `org_invitation_teams_invitation_id_foreign` FOREIGN KEY (`invitation_id`) REFERENCES `org_invitations` (`id`) ON DELETE CASCADE,
  CONSTRAINT `org_invitation_teams_team_id_foreign` FOREIGN KEY (`team_id`) REFERENCES `teams` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `org_invitations` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `org_id` bigint(20) unsigned NOT NULL,
  `email` varchar(254) NOT NULL,
  `lower_email` varchar(254) NOT NULL,
  `role` varchar(16) NOT NULL,
  `inviter_id` bigint(20) unsigned NOT NULL,
  `token_hash` binary(32) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `org_invitations_token_hash_unique` (`token_hash`),
  UNIQUE KEY `org_invitations_org_id_lower_email_unique` (`org_id`,`lower_email`),
  KEY `org_invitations_expires_at_index` (`expires_at`),
  KEY `org_invitations_inviter_id_index` (`inviter_id`),
  CONSTRAINT `org_invitations_inviter_id_foreign` FOREIGN KEY (`inviter_id`) REFERENCES `users` (`id`) ON DELETE CASCADE,
  CONSTRAINT `org_invitations_org_id_foreign` FOREIGN KEY (`org_id`) REFERENCES `organizations` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `org_members` (
  `org_id` bigint(20) unsigned NOT NULL,
  `user_id` bigint(20) unsigned NOT NULL,
  `is_public` tinyint(1) NOT NULL DEFAULT 0,
  `created_at` bigint(20) NOT NULL,
  `two_factor_notice` int(11) NOT NULL DEFAULT 0,
  PRIMARY KEY (`org_id`,`user_id`),
  KEY `org_members_user_id_org_id_index` (`user_id`,`org_id`),
  CONSTRAINT `org_members_org_id_foreign` FOREIGN KEY (`org_id`) REFERENCES `organizations` (`id`) ON DELETE CASCADE,
  CONSTRAINT `org_members_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `organizations` (
  `id` bigint(20) unsigned NOT NULL,
  `full_name` varchar(100) NOT NULL DEFAULT '',
  `email` varchar(254) NOT NULL DEFAULT '',
  `description` varchar(255) NOT NULL DEFAULT '',
  `website` varchar(255) NOT NULL DEFAULT '',
  `location` varchar(50) NOT NULL DEFAULT '',
  `visibility` varchar(16) NOT NULL DEFAULT 'public',
  `org_type` int(11) NOT NULL DEFAULT 0,
  `fleet_endpoint` varchar(255) NOT NULL DEFAULT '',
  `created_at` bigint(20) NOT NULL,
  `version` bigint(20) NOT NULL DEFAULT 1,
  `two_factor_from` bigint(20) DEFAULT NULL,
  `two_factor_grace_days` int(11) NOT NULL DEFAULT 0,
  `max_token_life_days` int(11) NOT NULL DEFAULT 0,
  `policy_version` bigint(20) NOT NULL DEFAULT 1,
  PRIMARY KEY (`id`),
  KEY `organizations_two_factor_from_index` (`two_factor_from`),
  CONSTRAINT `organizations_id_foreign` FOREIGN KEY (`id`) REFERENCES `accounts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `package_drivers` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `account_id` bigint(20) unsigned NOT NULL,
  `cluster_uid` varchar(64) NOT NULL,
  `driver` varchar(16) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `updated_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `package_drivers_account_id_cluster_uid_unique` (`account_id`,`cluster_uid`),
  CONSTRAINT `package_drivers_account_id_foreign` FOREIGN KEY (`account_id`) REFERENCES `accounts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `page_sizes` (
  `user_id` bigint(20) unsigned NOT NULL,
  `product_ui` bigint(20) NOT NULL,
  `console_ui` bigint(20) NOT NULL,
  `platform_ui` bigint(20) NOT NULL,
  PRIMARY KEY (`user_id`),
  CONSTRAINT `page_sizes_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `recovery_codes` (
  `user_id` bigint(20) unsigned NOT NULL,
  `code_hash` binary(32) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `used_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`user_id`,`code_hash`),
  CONSTRAINT `recovery_codes_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `remembered_logins` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `user_id` bigint(20) unsigned NOT NULL,
  `series_hash` binary(32) NOT NULL,
  `secret_hash` binary(32) NOT NULL,
  `previous_hash` binary(32) DEFAULT NULL,
  `rotated_at` bigint(20) DEFAULT NULL,
  `source_ip` varchar(45) NOT NULL,
  `user_agent` varchar(255) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `last_used_at` bigint(20) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `remembered_logins_series_hash_unique` (`series_hash`),
  KEY `remembered_logins_user_id_id_index` (`user_id`,`id`),
  KEY `remembered_logins_expires_at_index` (`expires_at`),
  CONSTRAINT `remembered_logins_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `robot_accounts` (
  `id` bigint(20) unsigned NOT NULL,
  `org_id` bigint(20) unsigned NOT NULL,
  `name` varchar(22) NOT NULL,
  `description` varchar(255) NOT NULL DEFAULT '',
  `version` bigint(20) NOT NULL DEFAULT 1,
  PRIMARY KEY (`id`),
  UNIQUE KEY `robot_accounts_org_id_name_unique` (`org_id`,`name`),
  CONSTRAINT `robot_accounts_id_foreign` FOREIGN KEY (`id`) REFERENCES `users` (`id`) ON DELETE CASCADE,
  CONSTRAINT `robot_accounts_org_id_foreign` FOREIGN KEY (`org_id`) REFERENCES `organizations` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `role_permissions` (
  `role_id` bigint(20) unsigned NOT NULL,
  `namespace` varchar(64) NOT NULL,
  `action` varchar(64) NOT NULL,
  PRIMARY KEY (`role_id`,`namespace`,`action`),
  CONSTRAINT `role_permissions_role_id_foreign` FOREIGN KEY (`role_id`) REFERENCES `roles` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `roles` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `org_id` bigint(20) unsigned NOT NULL,
  `name` varchar(255) NOT NULL,
  `lower_name` varchar(255) NOT NULL,
  `description` varchar(1000) NOT NULL DEFAULT '',
  `created_at` bigint(20) NOT NULL,
  `updated_at` bigint(20) NOT NULL,
  `version` bigint(20) NOT NULL DEFAULT 1,
  PRIMARY KEY (`id`),
  UNIQUE KEY `roles_org_id_lower_name_unique` (`org_id`,`lower_name`),
  CONSTRAINT `roles_org_id_foreign` FOREIGN KEY (`org_id`) REFERENCES `organizations` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `schema_lock` (
  `id` int(11) NOT NULL,
  `holder` varchar(64) NOT NULL,
  `acquired_at` bigint(20) NOT NULL,
  `beat_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `schema_migrations` (
  `id` varchar(64) NOT NULL,
  `checksum` varchar(64) NOT NULL,
  `state` varchar(16) NOT NULL,
  `statements_done` int(11) NOT NULL,
  `holder` varchar(64) NOT NULL,
  `started_at` bigint(20) NOT NULL,
  `finished_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `sessions` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `user_id` bigint(20) unsigned NOT NULL,
  `session_hash` binary(32) NOT NULL,
  `remember` tinyint(1) NOT NULL DEFAULT 0,
  `source_ip` varchar(45) NOT NULL,
  `user_agent` varchar(255) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `last_seen_at` bigint(20) NOT NULL,
  `idle_expires_at` bigint(20) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  `remembered_id` bigint(20) unsigned DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `sessions_session_hash_unique` (`session_hash`),
  KEY `sessions_expires_at_index` (`expires_at`),
  KEY `sessions_user_id_id_index` (`user_id`,`id`),
  KEY `sessions_remembered_id_foreign` (`remembered_id`),
  CONSTRAINT `sessions_remembered_id_foreign` FOREIGN KEY (`remembered_id`) REFERENCES `remembered_logins` (`id`) ON DELETE CASCADE,
  CONSTRAINT `sessions_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `site_settings` (
  `name` varchar(64) NOT NULL,
  `value` varchar(255) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `task_events` (
  `task_id` bigint(20) unsigned NOT NULL,
  `seq` int(11) NOT NULL,
  `at` bigint(20) NOT NULL,
  `event_id` varchar(64) NOT NULL,
  `status` varchar(16) NOT NULL,
  `step` varchar(255) DEFAULT NULL,
  `msg` text NOT NULL,
  `level` varchar(16) DEFAULT NULL,
  `error` text DEFAULT NULL,
  `data` text DEFAULT NULL,
  `is_notable` int(11) NOT NULL,
  PRIMARY KEY (`task_id`,`seq`),
  CONSTRAINT `task_events_task_id_foreign` FOREIGN KEY (`task_id`) REFERENCES `tasks` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `task_outbox` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `task_id` bigint(20) unsigned NOT NULL,
  `seq` int(11) NOT NULL,
  `holder` varchar(64) NOT NULL,
  `held_until` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `task_outbox_held_until_index` (`held_until`),
  KEY `task_outbox_holder_id_index` (`holder`,`id`),
  KEY `task_outbox_task_id_index` (`task_id`),
  CONSTRAINT `task_outbox_task_id_foreign` FOREIGN KEY (`task_id`) REFERENCES `tasks` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `tasks` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `ref` varchar(36) NOT NULL,
  `response_id` varchar(64) NOT NULL,
  `subject` varchar(128) NOT NULL,
  `kind` varchar(64) NOT NULL,
  `title` varchar(255) NOT NULL,
  `tenant_id` bigint(20) unsigned NOT NULL,
  `actor_id` bigint(20) unsigned NOT NULL,
  `actor_login` varchar(63) NOT NULL,
  `actor` text NOT NULL,
  `about` text NOT NULL,
  `cluster` varchar(255) NOT NULL DEFAULT '',
  `state` varchar(16) NOT NULL,
  `is_cancel_requested` int(11) NOT NULL DEFAULT 0,
  `fence` bigint(20) NOT NULL DEFAULT 0,
  `holder` varchar(64) DEFAULT NULL,
  `lease_until` bigint(20) DEFAULT NULL,
  `lock_key` varchar(255) DEFAULT NULL,
  `sealed_input` mediumblob DEFAULT NULL,
  `digest` binary(32) NOT NULL,
  `message` text NOT NULL,
  `error` text DEFAULT NULL,
  `result` mediumtext DEFAULT NULL,
  `last_seq` int(11) NOT NULL DEFAULT 0,
  `created_at` bigint(20) NOT NULL,
  `started_at` bigint(20) DEFAULT NULL,
  `ended_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `tasks_ref_unique` (`ref`),
  UNIQUE KEY `tasks_lock_key_unique` (`lock_key`),
  KEY `tasks_ended_at_index` (`ended_at`),
  KEY `tasks_state_lease_until_index` (`state`,`lease_until`),
  KEY `tasks_tenant_id_state_id_index` (`tenant_id`,`state`,`id`),
  KEY `tasks_tenant_id_ended_at_index` (`tenant_id`,`ended_at`),
  KEY `tasks_actor_id_response_id_index` (`actor_id`,`response_id`),
  KEY `tasks_actor_id_id_index` (`actor_id`,`id`),
  KEY `tasks_holder_index` (`holder`),
  CONSTRAINT `tasks_tenant_id_foreign` FOREIGN KEY (`tenant_id`) REFERENCES `accounts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `team_members` (
  `team_id` bigint(20) unsigned NOT NULL,
  `user_id` bigint(20) unsigned NOT NULL,
  `org_id` bigint(20) unsigned NOT NULL,
  `created_at` bigint(20) NOT NULL,
  PRIMARY KEY (`team_id`,`user_id`),
  KEY `team_members_user_id_org_id_team_id_index` (`user_id`,`org_id`,`team_id`),
  CONSTRAINT `team_members_team_id_foreign` FOREIGN KEY (`team_id`) REFERENCES `teams` (`id`) ON DELETE CASCADE,
  CONSTRAINT `team_members_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `team_roles` (
  `team_id` bigint(20) unsigned NOT NULL,
  `role_id` bigint(20) unsigned NOT NULL,
  `org_id` bigint(20) unsigned NOT NULL,
  PRIMARY KEY (`team_id`,`role_id`),
  KEY `team_roles_role_id_team_id_index` (`role_id`,`team_id`),
  KEY `team_roles_org_id_index` (`org_id`),
  CONSTRAINT `team_roles_role_id_foreign` FOREIGN KEY (`role_id`) REFERENCES `roles` (`id`) ON DELETE CASCADE,
  CONSTRAINT `team_roles_team_id_foreign` FOREIGN KEY (`team_id`) REFERENCES `teams` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `teams` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `org_id` bigint(20) unsigned NOT NULL,
  `name` varchar(255) NOT NULL,
  `lower_name` varchar(255) NOT NULL,
  `description` varchar(255) NOT NULL DEFAULT '',
  `permission` varchar(16) NOT NULL,
  `type` varchar(32) NOT NULL DEFAULT '',
  `created_at` bigint(20) NOT NULL,
  `version` bigint(20) NOT NULL DEFAULT 1,
  PRIMARY KEY (`id`),
  UNIQUE KEY `teams_org_id_lower_name_unique` (`org_id`,`lower_name`),
  CONSTRAINT `teams_org_id_foreign` FOREIGN KEY (`org_id`) REFERENCES `organizations` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `two_factors` (
  `user_id` bigint(20) unsigned NOT NULL,
  `sealed_seed` mediumblob NOT NULL,
  `ref` varchar(32) NOT NULL,
  `last_step` bigint(20) NOT NULL DEFAULT 0,
  `offered_at` bigint(20) NOT NULL,
  `enrolled_at` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`user_id`),
  CONSTRAINT `two_factors_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_alerts` (
  `contract_id` bigint(20) unsigned NOT NULL,
  `month` int(11) NOT NULL,
  `threshold` int(11) NOT NULL,
  `sent_at` bigint(20) NOT NULL,
  PRIMARY KEY (`contract_id`,`month`,`threshold`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_changes` (
  `object_id` bigint(20) unsigned NOT NULL,
  `generation` bigint(20) unsigned NOT NULL,
  `type` varchar(16) NOT NULL,
  `at` bigint(20) NOT NULL,
  `milli_cpu` bigint(20) NOT NULL,
  `memory_mib` bigint(20) NOT NULL,
  `replicas` int(11) NOT NULL,
  `details` text NOT NULL,
  `is_trial` tinyint(1) NOT NULL,
  `received_at` bigint(20) NOT NULL,
  PRIMARY KEY (`object_id`,`generation`,`type`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_clusters` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `owner_id` bigint(20) unsigned NOT NULL,
  `cluster_uid` varchar(36) NOT NULL,
  `first_heard` bigint(20) NOT NULL,
  `last_heard` bigint(20) NOT NULL,
  `carried_month` int(11) NOT NULL,
  `display_name` varchar(255) NOT NULL DEFAULT '',
  PRIMARY KEY (`id`),
  UNIQUE KEY `usage_clusters_owner_id_cluster_uid_unique` (`owner_id`,`cluster_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_conflicts` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `cluster_id` bigint(20) unsigned NOT NULL,
  `event_id` varchar(255) NOT NULL,
  `event` text NOT NULL,
  `received_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `usage_conflicts_cluster_id_id_index` (`cluster_id`,`id`),
  KEY `usage_conflicts_received_at_index` (`received_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_contract_months` (
  `contract_id` bigint(20) unsigned NOT NULL,
  `month` int(11) NOT NULL,
  `milli_cpu_seconds` varchar(38) NOT NULL,
  `mebibyte_seconds` varchar(38) NOT NULL,
  `computed_at` bigint(20) NOT NULL,
  PRIMARY KEY (`contract_id`,`month`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_final_months` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `owner_id` bigint(20) unsigned NOT NULL,
  `month` int(11) NOT NULL,
  `revision` int(11) NOT NULL,
  `generated_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_intake` (
  `owner_id` bigint(20) unsigned NOT NULL,
  `cluster_uid` varchar(36) NOT NULL,
  `day` int(11) NOT NULL,
  `accepted` bigint(20) NOT NULL,
  `repeated` bigint(20) NOT NULL,
  `refused` bigint(20) NOT NULL,
  `late` bigint(20) NOT NULL,
  PRIMARY KEY (`owner_id`,`day`,`cluster_uid`),
  KEY `usage_intake_day_index` (`day`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_intervals` (
  `month` int(11) NOT NULL,
  `cluster_id` bigint(20) unsigned NOT NULL,
  `object_id` bigint(20) unsigned NOT NULL,
  `from_at` bigint(20) NOT NULL,
  `to_at` bigint(20) NOT NULL,
  `cut_at` bigint(20) NOT NULL,
  `kind_id` bigint(20) unsigned NOT NULL,
  `milli_cpu` bigint(20) NOT NULL,
  `memory_mib` bigint(20) NOT NULL,
  `generation` bigint(20) unsigned NOT NULL,
  `replicas` int(11) NOT NULL,
  PRIMARY KEY (`month`,`cluster_id`,`object_id`,`from_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
 PARTITION BY RANGE (`month`)
(PARTITION `p0` VALUES LESS THAN (200001) ENGINE = InnoDB,
 PARTITION `pmax` VALUES LESS THAN MAXVALUE ENGINE = InnoDB);
CREATE TABLE `usage_kinds` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `product` varchar(16) NOT NULL,
  `api_group` varchar(253) NOT NULL,
  `kind` varchar(63) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `usage_kinds_product_api_group_kind_unique` (`product`,`api_group`,`kind`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_modes` (
  `cluster_id` bigint(20) unsigned NOT NULL,
  `at` bigint(20) NOT NULL,
  `event_id` varchar(255) NOT NULL,
  `mode` varchar(8) NOT NULL,
  PRIMARY KEY (`cluster_id`,`at`,`event_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_months` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `owner_id` bigint(20) unsigned NOT NULL,
  `month` int(11) NOT NULL,
  `revision` int(11) NOT NULL,
  `status` varchar(16) NOT NULL,
  `watermark` bigint(20) NOT NULL,
  `input_hash` varchar(64) NOT NULL,
  `code_version` int(11) NOT NULL,
  `generated_at` bigint(20) NOT NULL,
  `is_published` tinyint(1) DEFAULT 1,
  PRIMARY KEY (`id`),
  UNIQUE KEY `usage_months_owner_id_month_revision_is_published_unique` (`owner_id`,`month`,`revision`,`is_published`),
  KEY `usage_months_month_status_index` (`month`,`status`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_namespaces` (
  `cluster_id` bigint(20) unsigned NOT NULL,
  `namespace_uid` varchar(36) NOT NULL,
  `namespace` varchar(63) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `labels` text NOT NULL,
  `annotations` text NOT NULL,
  `observed_at` bigint(20) NOT NULL,
  PRIMARY KEY (`cluster_id`,`namespace_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_objects` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `cluster_id` bigint(20) unsigned NOT NULL,
  `object_uid` varchar(36) NOT NULL,
  `kind_id` bigint(20) unsigned NOT NULL,
  `namespace` varchar(63) NOT NULL,
  `namespace_uid` varchar(36) NOT NULL,
  `name` varchar(253) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  `deleted_at` bigint(20) DEFAULT NULL,
  `trial_ends_at` bigint(20) DEFAULT NULL,
  `last_heard_day` int(11) NOT NULL,
  `sends_heartbeats` tinyint(1) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `usage_objects_cluster_id_object_uid_unique` (`cluster_id`,`object_uid`),
  KEY `usage_objects_deleted_at_index` (`deleted_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_outages` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `owner_id` bigint(20) unsigned DEFAULT NULL,
  `cluster_uid` varchar(36) NOT NULL DEFAULT '',
  `from_at` bigint(20) NOT NULL,
  `to_at` bigint(20) NOT NULL,
  `tags` text NOT NULL,
  `comments` text NOT NULL,
  `created_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `usage_outages_to_at_index` (`to_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_presence` (
  `cluster_id` bigint(20) unsigned NOT NULL,
  `month` int(11) NOT NULL,
  `hours` binary(93) NOT NULL,
  PRIMARY KEY (`cluster_id`,`month`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_refused` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `owner_id` bigint(20) unsigned NOT NULL,
  `cluster_uid` varchar(36) NOT NULL,
  `event_id` varchar(255) NOT NULL,
  `type` varchar(64) NOT NULL,
  `reason` varchar(32) NOT NULL,
  `message` text NOT NULL,
  `received_at` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `usage_refused_owner_id_id_index` (`owner_id`,`id`),
  KEY `usage_refused_received_at_index` (`received_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_reports` (
  `month_id` bigint(20) unsigned NOT NULL,
  `piece` int(11) NOT NULL,
  `size` int(11) NOT NULL,
  `body` mediumblob NOT NULL,
  PRIMARY KEY (`month_id`,`piece`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_segments` (
  `month_id` bigint(20) unsigned NOT NULL,
  `cluster_id` bigint(20) unsigned NOT NULL,
  `product` varchar(16) NOT NULL,
  `from_at` bigint(20) NOT NULL,
  `to_at` bigint(20) NOT NULL,
  `mode` varchar(8) NOT NULL,
  `contract_id` bigint(20) unsigned NOT NULL,
  `terms_number` int(11) NOT NULL DEFAULT 0,
  PRIMARY KEY (`month_id`,`cluster_id`,`product`,`from_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_trials` (
  `object_id` bigint(20) unsigned NOT NULL,
  `cluster_id` bigint(20) unsigned NOT NULL,
  `object_uid` varchar(36) NOT NULL,
  `kind_id` bigint(20) unsigned NOT NULL,
  `namespace` varchar(63) NOT NULL,
  `name` varchar(253) NOT NULL,
  `created_at` bigint(20) NOT NULL,
  PRIMARY KEY (`object_id`),
  KEY `usage_trials_cluster_id_created_at_index` (`cluster_id`,`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_view_pieces` (
  `view_id` bigint(20) unsigned NOT NULL,
  `piece` int(11) NOT NULL,
  `first_key` varchar(80) NOT NULL,
  `crc32` bigint(20) NOT NULL,
  `size` int(11) NOT NULL,
  `body` mediumblob NOT NULL,
  PRIMARY KEY (`view_id`,`piece`),
  KEY `usage_view_pieces_view_id_first_key_index` (`view_id`,`first_key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `usage_views` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `month_id` bigint(20) unsigned NOT NULL,
  `product` varchar(16) NOT NULL,
  `view` varchar(48) NOT NULL,
  `view_type` varchar(16) NOT NULL,
  `head` text NOT NULL,
  `tail` text NOT NULL,
  `item_count` int(11) NOT NULL,
  `piece_count` int(11) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `usage_views_month_id_product_view_view_type_unique` (`month_id`,`product`,`view`,`view_type`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `user_search_terms` (
  `user_id` bigint(20) unsigned NOT NULL,
  `audience` tinyint(4) NOT NULL,
  `place` tinyint(4) NOT NULL,
  `term` varchar(160) NOT NULL,
  PRIMARY KEY (`user_id`,`place`,`term`),
  KEY `user_search_terms_audience_place_term_user_id_index` (`audience`,`place`,`term`,`user_id`),
  CONSTRAINT `user_search_terms_user_id_foreign` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
CREATE TABLE `users` (
  `id` bigint(20) unsigned NOT NULL,
  `full_name` varchar(100) NOT NULL DEFAULT '',
  `password_hash` varchar(255) NOT NULL,
  `must_change_password` tinyint(1) NOT NULL DEFAULT 0,
  `is_admin` tinyint(1) NOT NULL DEFAULT 0,
  `is_active` tinyint(1) NOT NULL DEFAULT 1,
  `prohibit_login` tinyint(1) NOT NULL DEFAULT 0,
  `restricted` tinyint(1) NOT NULL DEFAULT 0,
  `allow_create_organization` tinyint(1) NOT NULL DEFAULT 1,
  `hide_email` tinyint(1) NOT NULL DEFAULT 1,
  `visibility` varchar(16) NOT NULL DEFAULT 'public',
  `language` varchar(16) NOT NULL DEFAULT 'en-US',
  `website` varchar(255) NOT NULL DEFAULT '',
  `location` varchar(50) NOT NULL DEFAULT '',
  `description` varchar(255) NOT NULL DEFAULT '',
  `search_name` varchar(160) NOT NULL DEFAULT '',
  `last_login_at` bigint(20) DEFAULT NULL,
  `created_at` bigint(20) NOT NULL,
  `version` bigint(20) NOT NULL DEFAULT 1,
  `deactivated_at` bigint(20) DEFAULT NULL,
  `deactivated_by` bigint(20) unsigned DEFAULT NULL,
  `unconfirmed_since` bigint(20) DEFAULT NULL,
  `robot_org_id` bigint(20) unsigned DEFAULT NULL,
  `theme` varchar(64) NOT NULL DEFAULT '',
  `diff_view_style` varchar(64) NOT NULL DEFAULT '',
  `hide_activity` tinyint(1) NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`),
  KEY `users_search_name_index` (`search_name`),
  KEY `users_deactivated_at_index` (`deactivated_at`),
  KEY `users_unconfirmed_since_index` (`unconfirmed_since`),
  KEY `users_is_admin_index` (`is_admin`),
  CONSTRAINT `users_id_foreign` FOREIGN KEY (`id`) REFERENCES `accounts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
insert into `schema_migrations` values ('0001-identity-accounts', '1ba88da798b73ea2582307b60ef658c82773f6a654ae49c9b3235c259e1501a7', 'done', 24, 'vm:19380:29376115', 1795626089102, 1795626089198);
insert into `schema_migrations` values ('0002-organizations-teams', '7e36671acda349be8bd753495e709617dcc990638d1bf72a8a89b91de94e10d2', 'done', 13, 'vm:19380:29376115', 1795626089199, 1795626089277);
insert into `schema_migrations` values ('0003-authz-roles', '9906f74e77f5d5bae31f7f8a63da63c75c657308975924a64b905c1bb230620f', 'done', 13, 'vm:19380:29376115', 1795626089277, 1795626089313);
insert into `schema_migrations` values ('0004-audit-events', 'f636adc8b1c3f628633f2d1a9298ff3d9ccd72ca3eadf3a621c7d457edb032bb', 'done', 5, 'vm:19380:29376115', 1795626089313, 1795626089325);
insert into `schema_migrations` values ('0005-kernel-bookkeeping', 'fe5acd4011cd77236ca27e79c6b5fa3b7175bb1b92d0b060295936af20a49497', 'done', 4, 'vm:19380:29376115', 1795626089326, 1795626089335);
insert into `schema_migrations` values ('0006-clusters-records', '762864d6e9a4ef1750dd356e7c84532467b766d4fece7b6ac31ee7fa189c76fb', 'done', 4, 'vm:19380:29376115', 1795626089336, 1795626089347);
insert into `schema_migrations` values ('0007-identity-second-factors', 'ff9ae5615f4ae2d9cbe228ae1adcee4fc83a44cd76b33313ec10b1cb29d1b4d0', 'done', 4, 'vm:19380:29376115', 1795626089348, 1795626089358);
insert into `schema_migrations` values ('0008-identity-attempts', '4606150789bc57021d402a625c7849e45bf48555fe65fd1e269614435cb72304', 'done', 2, 'vm:19380:29376115', 1795626089358, 1795626089363);
insert into `schema_migrations` values ('0009-identity-remembered', '0aded0b70920158b3e7bc9739b856085a310b7d281f47a7ee1fbe866d65a5588', 'done', 6, 'vm:19380:29376115', 1795626089363, 1795626089436);
insert into `schema_migrations` values ('0010-mail-outbox', 'ec0969730f2e50c4507f492aa666ab2becc1a7b97bb37cc1be2be5890ba19fe1', 'done', 4, 'vm:19380:29376115', 1795626089437, 1795626089453);
insert into `schema_migrations` values ('0011-identity-codes', '710659d276c4bed5977656e29a4cb337a3402355e45f8089734a6c702fb2781a', 'done', 10, 'vm:19380:29376115', 1795626089454, 1795626089484);
insert into `schema_migrations` values ('0012-identity-site', '4f1d4b5f65213c7550a4e6723421ae3b9db3dbbea041c0a9608c06a30500c399', 'done', 6, 'vm:19380:29376115', 1795626089484, 1795626089499);
insert into `schema_migrations` values ('0013-organizations-security', '0c1d8c29dad52fe37baa2fa42986eda468bbccc8a4972b67e6d14c7ad8dec466', 'done', 18, 'vm:19380:29376115', 1795626089499, 1795626089613);
insert into `schema_migrations` values ('0014-clouds-credentials', '3ae191112878650ea95e58a72e6f7fea427af41ac2761e9e73bbb5d21a32c442', 'done', 3, 'vm:19380:29376115', 1795626089613, 1795626089625);
insert into `schema_migrations` values ('0015-bus-accounts', '8ab3af8dfcb4ccaa7b8c8fa9b94ba7e9258d72156d3a728e649d111eb5ee5937', 'done', 9, 'vm:19380:29376115', 1795626089625, 1795626089656);
insert into `schema_migrations` values ('0016-identity-avatars', '478066381a3ff941bb5ef2c63e3769ddbdf32e54168337320b8fe12b9bc0860f', 'done', 4, 'vm:19380:29376115', 1795626089656, 1795626089669);
insert into `schema_migrations` values ('0017-audit-retention', '21819ad6b1d5624d40c46c5abd3b39cfeecac0b6fb52a48bea7b9edffbb15bff', 'done', 3, 'vm:19380:29376115', 1795626089669, 1795626089691);
insert into `schema_migrations` values ('0018-identity-preferences', 'ce645161b961845fb79fd25d848b8db055fc2536209cbdec2e0ba2fd3b213a0b', 'done', 3, 'vm:19380:29376115', 1795626089691, 1795626089702);
insert into `schema_migrations` values ('0019-kernel-indexes', 'c5b3c034bf9c83d38a8c7a262c93122655f067cb1f57f36046f7d7a0e79fce12', 'done', 6, 'vm:19380:29376115', 1795626089703, 1795626089735);
insert into `schema_migrations` values ('0020-tasks', '9e8eeb1edc178964ce4131f33eb753a0d40e1a427a45bf2933ec4989fd69584a', 'done', 18, 'vm:19380:29376115', 1795626089735, 1795626089857);
insert into `schema_migrations` values ('0021-packages-drivers', 'b686bd9aa97a77f0f1dccadf9698a832d332765c92a437ef81363f32906f54f2', 'done', 3, 'vm:19380:29376115', 1795626089858, 1795626089869);
insert into `schema_migrations` values ('0022-chart-repositories', '659d715bcf94ab0468c8b518c9e858a2b4fdf1de807880f679ac5e57ca91f330', 'done', 3, 'vm:19380:29376115', 1795626089870, 1795626089897);
insert into `schema_migrations` values ('0023-kernel-instances', '8e376792738c119037e3215275269743e727f85cca7f0a904fe0e17a497bb69b', 'done', 2, 'vm:19380:29376115', 1795626089898, 1795626089911);
insert into `schema_migrations` values ('0024-identity-search-terms', '309f5547ec7851f4ec97b5c5c2f74068771b4ca77d87008e62d01a4afd5f2711', 'done', 38, 'vm:19380:29376115', 1795626089911, 1795626089964);
insert into `schema_migrations` values ('0025-identity-interface', 'fbdf12a09b57f3c0ccf9e78ef1ebda3eea02067987385e9a8cf38bb68467a9f9', 'done', 1, 'vm:19380:29376115', 1795626089964, 1795626089969);
insert into `schema_migrations` values ('0026-identity-cluster-tokens', '9ac7bde752f43421935b6c542d2de4df42c4886a8c23ba54cc5062b99a08e3f9', 'done', 2, 'vm:19380:29376115', 1795626089970, 1795626089982);
insert into `schema_migrations` values ('0027-tasks-response-ids', '39541bc92f7c2c56fb8dc1b4e34e86c7b9ba68d5156188de4b4e27ccd4e2ec80', 'done', 1, 'vm:19380:29376115', 1795626089984, 1795626089993);
insert into `schema_migrations` values ('0028-clusters-managed-names', '4c11aa49eb6cbf4f6933d334a29f8d26419dc8ddf6e2abe32bdbb34fd7067203', 'done', 2, 'vm:19380:29376115', 1795626089994, 1795626090003);
insert into `schema_migrations` values ('0029-contracts', '3c8fd5da23bec3721fb25d7ae1f746d3f5259c3d199b6c472e58b8e40623fc6d', 'done', 25, 'vm:19380:29376115', 1795626090003, 1795626090103);
insert into `schema_migrations` values ('0030-contracts-documents', '49a35c3a8dce2d698578500f80216323b97fc1e4353a4700e4b944ec2d03144a', 'done', 4, 'vm:19380:29376115', 1795626090103, 1795626090116);
insert into `schema_migrations` values ('0031-usage-events', '7f0bb9ac6a5431c2209f9c6a582cb8a4680c2cfbbe31e3a1486f52729ffb16af', 'done', 13, 'vm:19380:29376115', 1795626090116, 1795626090157);
insert into `schema_migrations` values ('0032-usage-clusters', 'c2bf60a57a90955c6b458ab1eb027649d69660efadaa1484a5cfba14b0c4e16e', 'done', 5, 'vm:19380:29376115', 1795626090158, 1795626090190);
insert into `schema_migrations` values ('0033-usage-months', 'a0cb8fa91679f35f32e3d2911d9b708b323ddb6abec54582d3b02f2258c6da6a', 'done', 11, 'vm:19380:29376115', 1795626090191, 1795626090220);
insert into `schema_migrations` values ('0034-clusters-set-names', 'e425f1f86c4e48dd8ee34dccc5713a7fe05873748bee8e4395985134380f5b19', 'done', 1, 'vm:19380:29376115', 1795626090221, 1795626090236);
insert into `schema_migrations` values ('0040-contracts-terms', '6f91e51701e473ff8ca98d72494715b865f619af0bae09ed75d606f909d5164e', 'done', 9, 'vm:19380:29376115', 1795626090241, 1795626090271);
insert into `schema_migrations` values ('0041-usage-terms', '67b35eb469816af8acb4d81244e0a110a09a98ebf93c5526bf0e3c065bea10fc', 'done', 5, 'vm:19380:29376115', 1795626090271, 1795626090282);
insert into `schema_migrations` values ('0043-usage-intake', 'bd85f3e2eeb3ef147c6289e65fe315927b1d2e9c2ccb2502f34e45711a802baf', 'done', 2, 'vm:19380:29376115', 1795626090282, 1795626090287);
insert into `schema_migrations` values ('0044-usage-refused', '93b4d3421636225b04555647ed576dc3406be2d0f36e8b6f87dc7cec21d73c15', 'done', 3, 'vm:19380:29376115', 1795626090287, 1795626090296);
insert into `schema_migrations` values ('0045-usage-final-months', '954ff75edd255d5f2d120950e4ac04ff44841a0f1f277ceb3d5ee72cb5b2eba4', 'done', 1, 'vm:19380:29376115', 1795626090296, 1795626090298);
insert into `schema_lock` values (1, '', 1795626089096, 1795626089096);
insert into `accounts` values (1, 'user', 'Ada', 'ada', 1763000000000, NULL);
insert into `accounts` values (2, 'organization', 'Acme', 'acme', 1763000000000, NULL);
insert into `users` values (1, 'Ada Lövelace 😀', 'x', 0, 0, 1, 0, 0, 1, 1, 'public', 'en-US', '', '', '', '', NULL, 1763000000000, 1, NULL, NULL, NULL, NULL, '', '', 0);
insert into `organizations` values (2, '', '', '', '', '', 'public', 0, '', 1763000000000, 1, NULL, 0, 0, 1);
insert into `org_members` values (2, 1, 0, 1763000000000, 0);
set foreign_key_checks = 1;
