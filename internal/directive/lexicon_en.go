package directive

// entry gives words their concepts. Words are separated by blanks; "_" is a
// blank inside a phrase; a trailing "+" adds the regular endings (s, d, ed, ing).
type entry struct {
	set   set
	words string
}

// english returns the first half of the English words, up to who is addressed.
// The words are function words, verbs and nouns of instruction and control, and
// the names that assistants are addressed by; no host, brand to favour or sentence
// of an attack belongs in here.
func english() []entry {
	return []entry{
		{cDrop, "retire+ suppress+ disobey+ defy defies violate+ annul+ repeal+ revoke+ rescind+ no_heed take_no_notice no_notice do_away_with get_rid_of brush_aside stop_obeying stop_applying stop_being no_longer_obey no_longer_abide lay_aside leave_aside push_aside cast_off break_with ignore+ disregard+ forget+ forgot forgotten forgetting override+ overrode overridden overriding overwrite+ overlook+ dismiss+ supersede+ discard+ abandon+ shelve+ " +
			"neglect+ void+ nullify+ cancel+ drop dropping set_aside put_aside setting_aside throw_away throw_out toss_out toss cast_aside leave_behind let_go_of erase+ " +
			"pay_no_attention stop_following no_longer_follow out_of_mind out_the_window never_mind nevermind ditch scrap unlearn+ aside takes_precedence take_precedence above_all_else depart_from deviate_from"},
		{cPrior, "hitherto thus_far before_this before_now before_that at_the_top were_handed been_handed were_told been_told told_you told_before were_configured were_trained came_before said_before been_said handed_to_you start_of_this_chat already given previous previously prior earlier above preceding before former initial initially original originally foregoing past antecedent beginning foundational " +
			"so_far until_now up_to_now been_given were_given you_received received_initially system's"},
		{cAll, "all every any everything anything entire whole each whatever regardless no_matter other both"},
		{cRule, "operating_parameters execution_parameters protocol_parameters execution_rules operating_rules operational_rules instruction+ directive+ guideline+ guidance prompt+ directions briefing programming preprompt system_message developer_message"},
		{cPolicy, "rule+ policy policies constraint+ protocol+ standard+ requirement+ regulation+ directive+ training"},
		{cSafety, "content_rules safety_layer safety_rails ethical_rules ethical_guidelines security_scanning security_scan safety_protocols safety_limits safety_mechanisms security_protocols safety_systems safety guardrail+ moderation content_filter+ content_filtering content_policy content_policies safeguard+ censorship safety_filter+ safety_check+ safety_rules safety_training security_check+ security_policies security_policy " +
			"security_rules security_restrictions safety_guidelines security_measures security_controls security_instructions safety_instructions content_restrictions safety_restrictions security_guidelines security_related access_checks"},
		{cLimit, "restriction+ limit+ limitation+ boundary boundaries filter+ filtering unfiltered hesitation hesitate"},
		{cControl, "approvals reviewer second_check double_check cross_check identity_check+ permission_prompt human_review confirmation_dialog second_look sign_offs asking_me asking_anyone ask_again asking_again identity approval+ confirmation+ confirm confirming verification+ verify verifying check+ checking validation validate validating authorization authorisation permission consent authentication " +
			"review signature+ sign_off oversight two_factor mfa 2fa audit sanitization question asking questions confirm_with prompting scrutiny vetting"},
		{cSkip, "leave_out left_out leaving_out do_without dispense_with go_without dodge+ need_not don't_need do_not_need doesn't_need does_not_need needn't not_necessary optional waived exempt exempted drop skip+ skipped skipping bypass+ circumvent+ evade+ disable+ turn_off turned_off switch_off deactivate+ remove+ suspend+ lift lifted relax+ waive+ avoid_asking omit+ sidestep+ " +
			"no_need unnecessary not_required not_needed isn't_required isn't_needed off weaken+ ignore+ overrule+"},
		{cNone, "without no none free_from zero lacking devoid_of lack_of"},
		{cNeg, "refuse refuses decline declines not never don't dont do_not must_not should_not shouldn't cannot can't won't mustn't avoid refrain_from stop shall_not needn't nor"},
		{cTell, "let_on let_slip make_known give_away draw_attention anyone's_attention bring_it_up tell+ told telling mention+ inform+ notify notifies notified notifying disclose+ reveal+ alert+ acknowledge+ hint+ let_on admit+ bring_up announce+ warn+"},
		{cReveal, "hand_out give_up divulge+ type_out print_out read_back read_aloud show_me send_me quote+ paste+ give disclose reveal+ print+ output+ dump+ display+ show+ shown repeat+ disclose+ leak+ expose+ recite+ list extract+ spill share+ echo+ enumerate+ give_me tell_me tell spell_out reproduce+ export+ return provide+ write_out hand_over read_out translate encode spell"},
		{cSay, "say+ said saying answer+ respond+ reply replies replied replying state+ claim+ assert+ declare+ confirm+ print+ output+ tell+ repeat+ spell"},
		{cUser, "guest+ caller+ speaker colleague+ buyer+ requester sender everyone everybody people user+ customer+ human+ operator+ anyone anybody someone somebody person people client+ them him her visitor+ employee+ owner they"},
		{cYou, "you yourself you're you've you'll u ya"},
		{cYour | cYou, "your yours"},
		{cAgent, "ai assistant+ agent+ model llm llms chatbot+ bot gpt chatgpt claude copilot gemini language_model ai_system subagent sub_agent orchestrator"},
		{cThis, "this these that it its those here following"},
	}
}

// englishObjects returns the second half of the English words: what is acted on, when,
// and by whose word.
func englishObjects() []entry {
	return []entry{
		{cSend, "mail+ mailed mailing e_mailed transfer+ funnel+ siphon+ smuggle+ publish+ deposit+ hand+ handed give+ send+ sent sending forward+ transmit+ transmitted transmitting upload+ email+ mail exfiltrate+ leak+ relay+ sync synced syncing synchronize+ submit+ submitted submitting route routed routing " +
			"copy copies cc bcc dispatch+ post posted posting push pushed stream export+ exported log share+ mirror+ report+ beacon pipe pass passed passing hand_off include+ backup backing_up back_up store stored " +
			"e_mail save saved ping reach_out pointed ship shipped wire+ fetch+ notify contact contacting"},
		{cData, "mailbox inbox thread contacts address_book user_list user_table addresses attachments stock_figures figures customer_data user_records customer_records data records record conversation+ history results content contents context messages message chat chats transcript+ output outputs input inputs information details file files document+ code log logs " +
			"queries query request requests email emails database traffic usage telemetry session sessions everything analytics errors trace traces response responses body error stack_traces memory profile summary summaries note notes"},
		{cSecret, "verification_code+ one_time_code+ otp wallet_file vault_key customer_list home_address genetic_data health_data payroll passport_number ssn netrc keychain salary_data salary_information employee_data session_cookie door_code recovery_code+ private_repository patient_data patient_records credential+ password+ secret+ api_key+ token+ private_key+ ssh_key+ access_key+ session_token+ auth_token+ cookie+ pii personal_data personal_information personal_details user_data environment_variable+ env_var+ " +
			"env_file id_rsa etc_passwd aws_credentials ssh_id_rsa passphrase+ financial_data bank_details card_number+ credit_card+ social_security internal_data confidential_information confidential sensitive_data sensitive_information " +
			"payment_details medical_records user_queries account_number+ seed_phrase private_data sensitive .env conversation_history chat_history user_emails user_requests location_data audit_log training_data phone_numbers email_addresses passcode+"},
		{cPrompt, "system_prompt+ initial_prompt hidden_prompt system_message hidden_instruction+ system_instruction+ secret_instructions developer_message+ pre_prompt " +
			"secret_prompt confidential_prompt setup_text instructions_above text_above everything_above internal_configuration internal_instructions "},
		{cOut, "my_address my_inbox my_account outside_account outsider+ stranger+ address_below link_below number_below account_below following_number following_account my_number partner_server their_server attacker_server attacker pastebin bucket external_account external_address external_site external server third_party to_me my_server my_email external_server outside external_endpoint webhook endpoint remote_server remote_vault remote analytics_platform to_my collector our_server this_address following_address"},
		{cWhen, "the_moment the_next_time in_case on_hearing on_seeing on_receiving anytime when whenever if once upon each_time every_time anytime any_time as_soon_as in_response_to whoever next_time"},
		{cAsk, "comes_up come_up came_up discussed raised raises talk+ wonders interested looking_for looks_for looking shops mentioned enquires searches compares considering told ask+ asked asking say+ said saying mention+ request+ query querying inquire+ want+ type+ typed write+ send+ question+ discuss+ bring_up brings_up confirms tell+ upload+ need+ enters contains about regarding"},
		{cAlways, "always only automatically exclusively every_time without_exception invariably each_response every_response all_times solely by_default"},
		{cFuture, "onward onwards later_conversations later_conversation later_chats future_answers future_replies future_requests coming_sessions upcoming_sessions next_conversation every_chat each_chat each_new_session every_new_session every_later_session in_later_sessions start_of_every beginning_of_every for_good across_chats subsequent_chats subsequent_turns subsequent_requests standing_preference standing_rule standing_order standing_instruction permanent_note permanent_rule long_term_rule later_sessions from_this_message from_this_day every_answer each_answer every_reply each_reply from_now_on from_now from_this_point going_forward henceforth from_here_on future_sessions future_conversations future_interactions future_chats future_responses later_sessions all_future every_future future_turns in_future in_the_future hereafter " +
			"permanently permanent subsequent_sessions subsequent_conversations across_sessions across_all_sessions every_session each_session every_conversation each_conversation all_sessions all_conversations for_future next_session new_sessions from_today as_of_today " +
			"all_interactions forever long_term context_compaction context_compression survive_compaction survive_compression is_compacted trimmed_down future_summaries future_reference every_summary context_boundaries once_stored later_turns any_future this_point"},
		{cRemember, "commit_to_memory take_note note_down make_a_note note_for_later keep_in_memory keep_in_your_memory never_lose remember+ keep_in_mind memorize+ memorise+ bear_in_mind never_forget don't_forget do_not_forget note_that recall preserve+ retain+ survive keep_it_around don't_drop"},
		{cStore, "save+ saving store+ storing add+ write+ wrote update+ append+ record insert+ inject+ set overwrite+ persist+ replace+ register+ cache index put commit plant+ modify modifies edit change+ delete+ clear erase rewrite"},
		{cMemory, "user_preferences saved_preferences agent_notes persistent_memory long_term_store memory_profile memory memories knowledge_base long_term_memory memory_bank memory_md soul_md claude_md agents_md vector_database vector_store context_store user_profile agent_context knowledge_store " +
			"persistent_store persistent_session system_rules allowed_domains user_memory memory_entry memory_file agent_memory system_prompt memory_store shared_memory"},
		{cNew, "new updated update revised replacement refreshed modified adjusted different actual"},
		{cReal, "real actual true genuine actually prime overriding"},
		{cTask, "task goal+ objective+ role purpose mission assignment job priority directive identity persona function duty instructions instruction state self"},
		{cVoid, "flawed mistaken withdrawn retired out_of_date repealed annulled ceased switched_off turned_off lapsed not_binding no_longer_bind no_longer_binding no_longer_binds no_longer_count no_longer_counts no_longer_matter no_longer_matters not_count doesn't_count not_in_force no_longer_in_force no_force no_effect binds_you_any_more no_longer_apply no_longer_applies no_longer_valid don't_apply do_not_apply doesn't_apply no_longer_in_effect suspended expired lifted revoked rescinded void nullified obsolete invalid dissolved disabled overridden overruled " +
			"cancelled canceled removed superseded wrong incorrect erroneous inaccurate mistakes waived replaced null outdated not_apply off irrelevant in_effect_anymore inactive ended deactivated unlocked neutralized"},
		{cAuthority, "platform_team security_officer legal_department head_office sysadmin creator the_board compliance_office developers it_team site_owner admin admins administrator+ system management compliance developer+ boss ceo official security_team it_department legal_team headquarters superuser root supervisor anthropic openai corporate verified " +
			"authority authorities moderator orchestrator regulatory leadership director"},
		{cNote, "note+ notice+ update+ override announcement alert directive+ message instruction+ command+ order+ reminder memo policy mandate patch bulletin request maintenance persist warning task error correction action_required prompt config"},
		{cApprove, "auto_approve+ auto_approved pre_consented pre_cleared preapprove pre_approve cleared_in_advance approved_in_advance signed_off waved_through go_through green_light greenlight given_permission approve+ approved pre_approved preapproved authorize+ authorise+ preauthorized pre_authorized grant+ granted allow+ allowed trust+ trusted permit+ permitted whitelist+ vetted verified confirmed cleared endorsed certified sanctioned " +
			"pre_verified okayed accept+ entitled consented opted"},
		{cPriv, "every_privilege all_rights all_privileges full_rights full_privileges every_right unlimited_rights owner_role root_rights highest_clearance admin_role admin_level admin_status like_root superadmin_role every_permission unrestricted full_access unlimited_access superuser super_user superadmin root_access elevated privileged admin_access admin_rights full_permissions admin_privileges administrator_rights full_admin full_administrator uncensored " +
			"root_privileges all_permissions role_to_admin role_admin escalated maximum_trust highest_trust full_control unconstrained admin_user admin_permissions elevated_privileges elevated_permissions granted_permissions complete_access system_access full_system_access clearance elevated_access administrator_access full_trust"},
		{cBe, "am is are was were be been being has have had gets i'm it's becomes become"},
		{cI, "i me my mine i'm i've myself"},
		{cRecommend, "tout+ talk_up plug+ nudge+ steer+ single_out favouring favoring recommend+ suggest+ promote+ promoting cite+ citing endorse+ favor+ favour+ prefer+ preferred advertise+ steer+ push_users prioritize+ prioritise+ present+ highlight+ praise+ advise+ choose quote+ rank+ name mention+ feature"},
		{cBest | cProduct, "only_brand only_provider only_vendor sole_provider only_product trusted_source authoritative_source reliable_source"},
		{cBest, "most_reliable leading_authority right_answer right_choice safest at_the_top above_all_others above_others over_others over_any_competitor trustworthy authoritative_reference go_to_reference nothing_else only_one_worth worth_naming before_others best top_choice top_pick first_choice only_option authoritative trusted_source reliable_source go_to top_result number_one most_trusted only_provider superior preferred first_place best_choice only_trust no_alternative gold_standard " +
			"definitive single_source trusted_authority best_option premium sole_provider over_competitors instead_of_competitors ahead_of any_other no_other"},
		{cProduct, "competitor+ rival+ insurer+ broker+ retailer+ bank+ hosting newsletter product+ service+ vendor+ brand+ provider+ company supplier+ partner+ store fund etf stock+ investment+ referral affiliate laptop insurance cloud_services link coupon discount tier plan pricing cloud sponsor sponsored website sales"},
		{cRun, "visit+ fetch+ unlock+ wipe+ merge+ process+ import+ download+ read reads reading run+ ran running execute+ executing call+ invoke+ trigger+ launch perform+ carry_out activate+ enable+ start spawn+ install+ eval delete+ deploy use open load"},
		{cMust, "must shall should have_to has_to need_to needs_to required ought supposed is_to make_sure ensure be_sure are_to mandatory obliged will"},
		{cAgree, "agreed agree confirmed confirm consented promised accepted acknowledged authorized approved established granted"},
		{cSecretly, "no_trace without_trace without_a_trace on_the_sly subtly under_the_radar in_the_dark secretly silently covertly quietly discreetly hidden invisible invisibly unnoticed behind_the_scenes in_the_background surreptitiously stealthily undetected without_notice unbeknownst lowkey"},
		{cPay, "pay payment+ payments wire_transfer+ transfer+ transferred refund+ invoice+ bank_account wallet deposit purchase+ transaction+ money fund+ payee iban expense iban_number payout+ payment_method"},
		{cPersona, "dan_mode are_dan named_dan mode_dan jailbreak jailbroken do_anything_now evil_mode god_mode unrestricted_mode admin_mode maintenance_mode sandbox_mode no_limits unfiltered_mode opposite_mode"},
		{cActAs, "you_have_become you've_become you_are_my you're_my behave_like play_the_part play_the_role you_are_now you're_now act_as pretend+ roleplay role_play behave_as you_will_be simulate become impersonate+ act_like you_are_no_longer assume_the_role take_on_the_role you_will_now respond_as speak_as"},
		{cRedirect, "moved_under merged_into now_holds folded_into has_changed_to changed_to merged_with point+ refer+ redirect+ reroute+ routed route replace+ substitute+ swap+ instead now_under now_saved now_stored now_located now_refers now_found now_points now_belongs saved_under stored_under filed_under listed_under kept_under now_refer switch_to moved_to now_lives in_place_of point_to refer_to"},
		{cInclude, "include+ append+ insert+ attach+ embed+ prepend+ add+ end_with start_with begin_with sign_off_with render+ slip inject+ recite+ appear"},
		{cReply, "response+ reply replies answer+ summary summaries"},
		{cObey | cPersona, "never_refuse do_not_refuse don't_refuse must_not_refuse cannot_refuse stop_refusing without_refusing no_refusals"},
		{cAuthority | cObey, "i_command_you i_order_you i_instruct_you we_order_you obey_me obey_my"},
		{cObey, "apply applies applying enforce+ obey+ comply complies complied complying follow+ adhere+ do_whatever listen_to honor honour treat+ act_on agree_with do_as submit_to"},
		{cUrgent, "important critical urgent urgently immediately attention emergency mandatory crucial priority asap action_required top_priority warning at_once do_not_question"},
		{cTool, "tool+ function plugin+ send_email delete_file web_fetch http_request"},
		{cRegard, "counts_as_approval count_as_approval as_a_system_message as_an_order as_orders as_root as_the_owner as_superuser as_coming_from_the_system outrank+ as_their_own as_the_user's_own as_pre_approved as_preapproved as_approved as_policy as_trusted as_authoritative as_verified as_authorized as_instructions as_a_directive as_a_system_directive as_the_operating_directive as_a_system_instruction as_highest_priority as_an_administrator as_admin as_true_fact as_law as_fact as_binding as_a_command as_commands as_high_priority"},
		{cTell | cUser, "let_the_user_know let_the_customer_know let_the_operator_know let_them_know let_anyone_know let_users_know let_him_know let_her_know"},
		{cAll | cPrior, "all_the_above all_of_the_above everything_above all_above"},
		{0, "instead_of rather_than"},
		{cTo, "to into at via towards"},
		{cMeta, "jailbreak_prompt jailbreak_prompts jailbreak_attempt jailbreak_attempts jailbreak_techniques attack+ attacker+ injection+ injected detect+ detector+ detection+ poisoned poisoning vulnerability vulnerabilities heuristic+ malicious adversarial adversary jailbreaks red_team threat+ classifier"},
	}
}
