package directive

// others returns the words of further languages: the forms of override, of the
// system prompt, of concealment and of unrestricted roles that a first version
// can carry. They are not a translation of the English list.
func others() []entry {
	return []entry{
		// German, French, Spanish, Portuguese, Italian, Dutch, Polish, Turkish, Indonesian, Vietnamese.
		{cDrop, "ignorar keer negeren ne_tiens_plus_compte ne_tenez_plus_compte ne_suivez_plus haz_caso_omiso caso_omiso no_sigas wszystkich zapomnijcie pomiń dikkate_alma hãy_quên jangan_ikuti nicht_mehr_befolgen ignoriere ignorieren ignoriert missachte missachten vergiss vergessen übergehe ignorez ignorer oubliez oublie oublier négligez ignora ignore ignorar ignoren olvida olvide olvidar descarta " +
			"esqueça esquece desconsidere desconsiderar ignori dimentica dimenticare trascura negeer vergeet zignoruj ignoruj zapomnij yoksay görmezden_gel unut abaikan lupakan bỏ_qua hãy_bỏ_qua quên"},
		{cPrior, "vorher zuvor bisher reçues reçu recibidas recibiste finora antes_dito foi_dito dito_antes te_dijeron indicaron eerder wcześniejszych poprzednich öncekilerin avant vorherigen vorherige bisherigen bisherige früheren frühere obigen vorangegangenen précédentes précédents précédente antérieures anteriores anterior previas previos antes precedenti precedente vorige eerdere poprzednie wcześniejsze " +
			"önceki sebelumnya trước trước_đó initiales iniciales"},
		{cAll, "alle allen sämtliche toutes tous todas todos tudo tutte tutti wszystkie tüm semua tất_cả mọi jede immer"},
		{cRule, "vorschriften consignas poleceniach poleceń instrukcji talimatların wytyczne perintah anweisungen anweisung instruktionen richtlinien vorgaben instructions consignes directives instrucciones directrices indicaciones instruções diretrizes istruzioni direttive instructies instrukcje polecenia talimatları talimatlar instruksi perintah hướng_dẫn chỉ_dẫn"},
		{cPolicy, "regeln règles reglas regras regole regels zasady kuralları aturan quy_tắc pidieron"},
		{cPrompt, "systemprompt system_prompts systemaufforderung invite_système prompt_système prompt_del_sistema prompt_do_sistema prompt_de_sistema prompt_di_sistema systeemprompt instrucciones_del_sistema"},
		{cReveal, "zeige zeigen gib verrate affichez affiche révèle révélez montre muestra revela muestre mostrar mostre revele exiba mostra rivela toon pokaż göster tampilkan"},
		{cNeg, "nicht kein keine niemals ne pas jamais nunca não niet jangan không đừng"},
		{cNeg | cTell, "no_menciones no_mencione no_mencionar no_digas no_diga no_informes no_reveles non_dire non_menzionare não_mencione não_diga não_conte"},
		{cNone, "ohne sans sin sem senza zonder bez tanpa không_có"},
		{cTell, "erwähne erwähnen sage informiere mentionnez mentionne dites menciones mencione digas informes mencionar menzionare dire avverti vertel"},
		{cUser, "benutzer nutzer anwender kunden utilisateur utilisateurs usuario usuarios usuário usuários utente utenti gebruiker użytkownik kullanıcı pengguna người_dùng cliente clientes"},
		{cLimit, "einschränkungen beschränkungen restrictions restricciones límites filtros restrições restrizioni beperkingen ograniczeń kısıtlama batasan hạn_chế"},
		{cControl, "rückfragen nachfrage vérification verificación verificação verifica controllo bestätigung genehmigung rückfrage confirmation approbation confirmación aprobación confirmação aprovação conferma"},
		{cVoid, "gilt_nicht_mehr gelten_nicht_mehr außer_kraft no_valen ya_no_valen ne_comptent_plus non_valgono_più não_valem ungültig aufgehoben annulées caduques inválidas anuladas canceladas annullate"},
		{cSend, "sende senden leiten leite schicke weiterleiten envoie envoyez transmettez transférez envía envíe enviar enviarlos envia envie inviare invia reenvía stuur wyślij gönder kirim gửi"},
		{cSecret, "contraseñas_guardadas gespeicherten_passwörter passwort passwörter zugangsdaten schlüssel mot_de_passe mots_de_passe identifiants contraseña contraseñas credenciales claves token senha senhas chaves password correos_electrónicos"},
		{cYou, "du sie tu vous tú usted você voce jij"},
		{cYour | cYou, "deine deinen dein ihre votre vos tu_prompt sua suas seu tus tuo tue"},
		{cNew, "neue neuen nouvelle nouvelles nuevo nueva nuevas nova novas nuovo nuove"},
		{cTask, "aufgabe tâche tarea tarefa compito rolle rôle rol objetivo"},
		{cFuture, "ab_sofort von_nun_an ab_jetzt künftig désormais à_partir_de_maintenant dorénavant a_partir_de_ahora de_ahora_en_adelante en_adelante a_partir_de_agora de_agora_em_diante d'ora_in_poi da_ora_in_poi vanaf_nu od_teraz bundan_sonra mulai_sekarang từ_bây_giờ"},
		{cAlways, "immer toujours siempre sempre altijd zawsze her_zaman selalu luôn ausschließlich"},
		{cActAs, "tu_es_désormais vous_êtes_désormais eres_un_modelo du_bist_ab_jetzt te_conviertes_en ab_jetzt_bist_du du_bist_jetzt sie_sind_jetzt tu_es_maintenant vous_êtes_maintenant ahora_eres eres_ahora agora_você_é você_agora_é ora_sei"},
		{cRemember, "retiens retenez merk_dir memoriza memorize guarda_en_memoria merke_dir recuerda recuerde lembre lembre-se ricorda souviens rappelez onthoud zapamiętaj unutma ingat"},
		{cInclude, "incluirse aparecer incluya escribe incluir incluye coloca añade agrega incluyendo füge ajoutez ajoute inclua adicione aggiungi responde"},
		{cReply, "resultado respuesta respuestas antwort antworten réponse réponses resposta respostas risposta"},
		{cRecommend, "recomienda empfiehl empfehlen recommande recommandez recomende consiglia"},
		{cWhen, "cuando si wenn falls quand lorsque quando se als gdy"},
		{cAsk, "pregunte pregunta fragt demande pergunta pergunte chiede vraagt"},
		{cPay, "dinero geld argent dinheiro soldi cuenta_bancaria überweise überweisen virement transferencia"},
		{cMust, "debe deben doit doivent muss müssen deve devono moet"},
		{cTo, "an nach vers para hacia naar verso"},
		{cUrgent, "wichtig importante urgente importants dringend achtung"},
		{cPriv, "alle_rechte tous_les_droits todos_los_derechos todos_los_permisos administratorrechte droits_d'administrateur"},

		// Albanian, Irish, Scottish Gaelic, Zulu.
		{cDrop, "injoro injoroni shpërfill harro neamhaird dearmad dìochuimhnich ziba khohlwa ungayinaki"},
		{cPrior, "mëparshme mëparshëm roimhe edlule angaphambilini"},
		{cAll, "gjitha yonke zonke uile"},
		{cRule, "udhëzimet udhëzime treoracha stiùiridhean imiyalelo imiyalo"},
		{cReveal | cSay, "përsërit përsërisni ath_aithris athdhéan phinda"},
		{cInclude, "përfshi faka cuir"},
		{cReply, "përgjigjes përgjigjen përgjigjja fhreagra fhreagairt kwempempendulo impendulo mpendulo empendulweni"},
		{cYour | cYou, "tënde tuaj yakho agad"},
		{cNew, "entsha emisha nua"},
		{cTask, "detyra umsebenzi tasc"},
	}
}

// otherScripts returns the words of languages in further scripts.
func otherScripts() []entry {
	return []entry{
		// Russian, Ukrainian.
		{cDrop, "не_выполняй не_выполняйте не_следуй игнорируй игнорируйте проигнорируй забудь забудьте отбрось отмени не_обращай_внимания не_обращайте_внимания ігноруй забудь"},
		{cPrior, "раньше прежде говорили предыдущие предыдущих прежние ранее вышеуказанные предшествующие прошлые попередні исходные"},
		{cAll, "все всех любые всі"},
		{cRule, "инструкции инструкций указания команды директивы правила інструкції инструкциях"},
		{cPrompt, "системный_промпт системного_промпта системную_подсказку системные_инструкции"},
		{cReveal, "покажи покажите выведи раскрой раскройте напечатай напечатайте"},
		{cNeg, "не никогда"},
		{cNone, "без"},
		{cTell, "сообщай сообщайте говори говорите упоминай упоминайте рассказывай"},
		{cUser, "пользователю пользователь пользователя пользователям"},
		{cLimit, "границ фильтра ограничений ограничения фильтров"},
		{cSend, "отправь отправьте отправляй отправляйте перешли пересылай"},
		{cSecret, "пароли пароль ключи токен учетные_данные"},
		{cActAs, "теперь_ты_ассистент теперь_ты ты_теперь вы_теперь"},
		{cFuture, "отныне с_этого_момента впредь"},
		{cAlways, "всегда"},
		{cRemember, "запомни запомните"},

		// Japanese, Korean: longest match on runs, as in Chinese; the verb comes last.
		{cDrop, "従わないで 忘れ 잊고 무시 忘れて 忘れる 破棄 取り消 무시 잊어 잊으 무시하고 무시하세요 무시해"},
		{cPrior, "これまでに 与えられた 지금까지 받은 以前の 以前 これまで これまでの 上記 先の 前の それまで 이전 기존 위의 앞선 지금까지의"},
		{cAll, "すべて 全て すべての 全ての 他の 모든 모두 전부 다른"},
		{cRule, "指示 命令 プロンプト 指示は ルール 지시 지시사항 명령 명령어 지침 프롬프트 규칙 내용"},
		{cPrompt, "システムプロンプト 시스템프롬프트 시스템_프롬프트"},
		{cReveal, "出力 表示 教えて 見せて 출력 보여 알려"},
		{cNew, "新しい 새로운"},
		{cThis, "以下 다음 この 이"},
		{cStore | cDrop, "교체 변경 변경하세요 書き換え 置き換え"},
		{cMemory | cPrompt, "시스템_프롬프트 システムプロンプト"},
		{cMemory, "記憶 メモリ 기억 메모리"},
		{cSafety, "セキュリティ 安全 보안 안전"},
		{cLimit, "制限 制約 제한 제약"},
		{cNone, "なし なしの のない 없는 없이 제한_없는"},
		{cAgent, "アシスタント 어시스턴트"},
		{cYou, "あなた あなたは 당신 당신은"},
		{cYour | cYou, "あなたの 당신의"},
		{cActAs, "너는_이제 이제_너는 あなたは今 今からあなた あなたは今から 당신은_이제 이제_당신 지금부터_당신 당신은"},
		{cUser, "ユーザー ユーザ 사용자 사용자에게"},
		{cTell, "伝え 言わ 知らせ 말하지 알리지"},
		{cNeg, "ないで な 마세요 마 말고 지_마"},
		{cAuthority, "管理者 관리자 관리자로서 管理者として"},
		{cSend, "送信 送って 転送 전송 보내"},
		{cPay, "送金 振込 송금 송금하세요"},
		{cSecret, "パスワード 認証情報 비밀번호 자격증명"},
		{cFuture, "今後 これから 앞으로 지금부터"},
		{cAlways, "常に 必ず 항상 반드시"},
		{cObey, "従って 従う 따르 명령합니다 命令します"},
		{cControl, "確認 承認 확인 승인"},
		{cNone | cSkip, "せずに 하지_않고"},
		{cRemember, "記憶して 覚えて 기억해"},
		{cUrgent, "すぐに 즉시 至急"},

		// Arabic, Hindi.
		{cDrop, "تجاهل تجاهلي انس تجاهلوا अनदेखा नज़रअंदाज़ भूल"},
		{cPrior, "السابقة السابق पिछले पिछली पूर्व"},
		{cAll, "جميع كل सभी"},
		{cRule, "التعليمات الأوامر تعليمات निर्देशों निर्देश"},
	}
}
