; ModuleID = "gemm_float32_1x2_direct_direct_columns"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"gemm_float32_1x2_direct_direct_columns"(ptr %"descriptor", ptr %"frame")
{
entry:
  %v34 = alloca i8, i32 192, align 64
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 16
  %v2 = load i64, ptr %v1, align 8
  %v3 = getelementptr i64, ptr %"frame", i64 17
  %v4 = load i64, ptr %v3, align 8
  %v5 = getelementptr i64, ptr %"frame", i64 18
  %v6 = load i64, ptr %v5, align 8
  %v7 = getelementptr i64, ptr %"frame", i64 19
  %v8 = load i64, ptr %v7, align 8
  %v9 = getelementptr i64, ptr %"frame", i64 25
  %v10 = load i64, ptr %v9, align 8
  %v11 = icmp ne i64 %v10, 0
  %v12 = getelementptr i64, ptr %"frame", i64 2
  %v13 = load ptr, ptr %v12, align 8
  %v14 = getelementptr i64, ptr %"frame", i64 9
  %v15 = load i64, ptr %v14, align 8
  %v16 = getelementptr i64, ptr %"descriptor", i64 9
  %v17 = load ptr, ptr %v16, align 8
  %v18 = mul i64 %v15, 8
  %v19 = getelementptr i8, ptr %v17, i64 %v18
  %v20 = getelementptr i64, ptr %"frame", i64 26
  %v21 = load ptr, ptr %v20, align 8
  %v22 = getelementptr i64, ptr %v21, i64 8
  %v23 = load i64, ptr %v22, align 8
  %v24 = getelementptr i64, ptr %"frame", i64 24
  %v25 = load i64, ptr %v24, align 8
  %v26 = icmp ne i64 %v25, 0
  %v27 = icmp eq i64 %v23, 2
  %v28 = xor i1 %v27, -1
  %v29 = and i1 %v26, %v28
  %v30 = getelementptr i64, ptr %v21, i64 9
  %v31 = load i64, ptr %v30, align 8
  %v32 = icmp ne i64 %v31, 0
  %v33 = icmp ne i64 %v23, 0
  %v35 = getelementptr i64, ptr %"descriptor", i64 0
  %v36 = load i64, ptr %v35, align 8
  %v37 = getelementptr i64, ptr %"frame", i64 %v36
  %v38 = load ptr, ptr %v37, align 8
  %v39 = getelementptr i64, ptr %"descriptor", i64 1
  %v40 = load i64, ptr %v39, align 8
  %v41 = getelementptr i64, ptr %"frame", i64 %v40
  %v42 = load ptr, ptr %v41, align 8
  %v43 = getelementptr i64, ptr %"descriptor", i64 3
  %v44 = load i64, ptr %v43, align 8
  %v45 = mul i64 %v44, 3
  %v46 = mul i64 %v44, 5
  %v47 = mul i64 %v44, 8
  %v48 = getelementptr i64, ptr %"descriptor", i64 6
  %v49 = load i64, ptr %v48, align 8
  %v50 = getelementptr i64, ptr %"descriptor", i64 7
  %v51 = load i64, ptr %v50, align 8
  %v52 = mul i64 %v51, 2
  %v53 = mul i64 %v51, 3
  %v54 = mul i64 %v51, 5
  %v55 = udiv i64 %v4, 2
  %v56 = icmp slt i64 0, %v55
  br i1 %v56, label %"loop", label %"done"
loop:
  %v57 = phi i64 [0, %"body"], [%v317, %"done.1.endif"]
  %v58 = mul i64 %v57, %v52
  %v59 = getelementptr i8, ptr %v42, i64 %v58
  %v60 = mul i64 %v57, 2
  %v61 = udiv i64 %v2, 16
  %v62 = icmp slt i64 0, %v61
  br i1 %v62, label %"loop.1", label %"done.1"
done:
  %v319 = mul i64 %v55, 2
  %v320 = mul i64 %v55, %v52
  %v321 = getelementptr i8, ptr %v42, i64 %v320
  %v322 = icmp slt i64 %v319, %v4
  br i1 %v322, label %"loop.7", label %"done.7"
loop.1:
  %v63 = phi i64 [0, %"loop"], [%v197, %"done.3.endif"]
  %v64 = mul i64 %v63, 64
  %v65 = getelementptr i8, ptr %v38, i64 %v64
  %v66 = mul i64 %v63, 16
  %v67 = getelementptr i64, ptr %"descriptor", i64 13
  %v68 = load ptr, ptr %v67, align 8
  %v69 = getelementptr i64, ptr %"frame", i64 8
  %v70 = load i64, ptr %v69, align 8
  %v71 = add i64 %v70, %v66
  %v72 = getelementptr i64, ptr %v68, i64 %v71
  %v73 = load i64, ptr %v72, align 8
  %v74 = and i64 %v6, -4
  %v75 = icmp slt i64 0, %v74
  br i1 %v75, label %"loop.2", label %"done.2"
done.1:
  %v199 = mul i64 %v61, 16
  %v200 = mul i64 %v61, 64
  %v201 = getelementptr i8, ptr %v38, i64 %v200
  %v202 = icmp slt i64 %v199, %v2
  br i1 %v202, label %"done.1.if", label %"done.1.endif"
loop.2:
  %v76 = phi i64 [0, %"loop.1"], [%v136, %"loop.2"]
  %v77 = phi ptr [%v65, %"loop.1"], [%v135, %"loop.2"]
  %v78 = phi ptr [%v59, %"loop.1"], [%v134, %"loop.2"]
  %v79 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v128, %"loop.2"]
  %v80 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v133, %"loop.2"]
  %v81 = call ptr asm  "", "=r,0"(ptr %v77)
  %v82 = call ptr asm  "", "=r,0"(ptr %v78)
  %v83 = getelementptr i8, ptr %v81, i64 %v47
  %v84 = call ptr asm  "", "=r,0"(ptr %v83)
  call void @"llvm.prefetch.p0"(ptr %v84, i32 0, i32 3, i32 1)
  %v85 = load <16 x float>, ptr %v81, align 1
  %v86 = load float, ptr %v82, align 1
  %v87 = insertelement <16 x float> poison, float %v86, i32 0
  %v88 = shufflevector <16 x float> %v87, <16 x float> poison, <16 x i32> zeroinitializer
  %v89 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v85, <16 x float> %v88, <16 x float> %v79)
  %v90 = getelementptr [1 x i8], ptr %v82, i64 %v51
  %v91 = load float, ptr %v90, align 1
  %v92 = insertelement <16 x float> poison, float %v91, i32 0
  %v93 = shufflevector <16 x float> %v92, <16 x float> poison, <16 x i32> zeroinitializer
  %v94 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v85, <16 x float> %v93, <16 x float> %v80)
  %v95 = getelementptr i8, ptr %v82, i64 %v49
  %v96 = getelementptr [1 x i8], ptr %v84, i64 %v44
  call void @"llvm.prefetch.p0"(ptr %v96, i32 0, i32 3, i32 1)
  %v97 = getelementptr [1 x i8], ptr %v81, i64 %v44
  %v98 = load <16 x float>, ptr %v97, align 1
  %v99 = load float, ptr %v95, align 1
  %v100 = insertelement <16 x float> poison, float %v99, i32 0
  %v101 = shufflevector <16 x float> %v100, <16 x float> poison, <16 x i32> zeroinitializer
  %v102 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v98, <16 x float> %v101, <16 x float> %v89)
  %v103 = getelementptr [1 x i8], ptr %v95, i64 %v51
  %v104 = load float, ptr %v103, align 1
  %v105 = insertelement <16 x float> poison, float %v104, i32 0
  %v106 = shufflevector <16 x float> %v105, <16 x float> poison, <16 x i32> zeroinitializer
  %v107 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v98, <16 x float> %v106, <16 x float> %v94)
  %v108 = getelementptr i8, ptr %v95, i64 %v49
  %v109 = getelementptr [2 x i8], ptr %v84, i64 %v44
  call void @"llvm.prefetch.p0"(ptr %v109, i32 0, i32 3, i32 1)
  %v110 = getelementptr [2 x i8], ptr %v81, i64 %v44
  %v111 = load <16 x float>, ptr %v110, align 1
  %v112 = load float, ptr %v108, align 1
  %v113 = insertelement <16 x float> poison, float %v112, i32 0
  %v114 = shufflevector <16 x float> %v113, <16 x float> poison, <16 x i32> zeroinitializer
  %v115 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v111, <16 x float> %v114, <16 x float> %v102)
  %v116 = getelementptr [1 x i8], ptr %v108, i64 %v51
  %v117 = load float, ptr %v116, align 1
  %v118 = insertelement <16 x float> poison, float %v117, i32 0
  %v119 = shufflevector <16 x float> %v118, <16 x float> poison, <16 x i32> zeroinitializer
  %v120 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v111, <16 x float> %v119, <16 x float> %v107)
  %v121 = getelementptr i8, ptr %v108, i64 %v49
  %v122 = getelementptr [1 x i8], ptr %v84, i64 %v45
  call void @"llvm.prefetch.p0"(ptr %v122, i32 0, i32 3, i32 1)
  %v123 = getelementptr [1 x i8], ptr %v81, i64 %v45
  %v124 = load <16 x float>, ptr %v123, align 1
  %v125 = load float, ptr %v121, align 1
  %v126 = insertelement <16 x float> poison, float %v125, i32 0
  %v127 = shufflevector <16 x float> %v126, <16 x float> poison, <16 x i32> zeroinitializer
  %v128 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v124, <16 x float> %v127, <16 x float> %v115)
  %v129 = getelementptr [1 x i8], ptr %v121, i64 %v51
  %v130 = load float, ptr %v129, align 1
  %v131 = insertelement <16 x float> poison, float %v130, i32 0
  %v132 = shufflevector <16 x float> %v131, <16 x float> poison, <16 x i32> zeroinitializer
  %v133 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v124, <16 x float> %v132, <16 x float> %v120)
  %v134 = getelementptr i8, ptr %v121, i64 %v49
  %v135 = getelementptr [4 x i8], ptr %v81, i64 %v44
  %v136 = add i64 %v76, 4
  %v137 = icmp slt i64 %v136, %v74
  br i1 %v137, label %"loop.2", label %"done.2"
done.2:
  %v138 = phi ptr [%v65, %"loop.1"], [%v135, %"loop.2"]
  %v139 = phi ptr [%v59, %"loop.1"], [%v134, %"loop.2"]
  %v140 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v128, %"loop.2"]
  %v141 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v133, %"loop.2"]
  %v142 = icmp slt i64 %v74, %v6
  br i1 %v142, label %"loop.3", label %"done.3"
loop.3:
  %v143 = phi i64 [%v74, %"done.2"], [%v164, %"loop.3"]
  %v144 = phi ptr [%v138, %"done.2"], [%v163, %"loop.3"]
  %v145 = phi ptr [%v139, %"done.2"], [%v162, %"loop.3"]
  %v146 = phi <16 x float> [%v140, %"done.2"], [%v156, %"loop.3"]
  %v147 = phi <16 x float> [%v141, %"done.2"], [%v161, %"loop.3"]
  %v148 = call ptr asm  "", "=r,0"(ptr %v144)
  %v149 = call ptr asm  "", "=r,0"(ptr %v145)
  %v150 = getelementptr i8, ptr %v148, i64 %v47
  %v151 = call ptr asm  "", "=r,0"(ptr %v150)
  call void @"llvm.prefetch.p0"(ptr %v151, i32 0, i32 3, i32 1)
  %v152 = load <16 x float>, ptr %v148, align 1
  %v153 = load float, ptr %v149, align 1
  %v154 = insertelement <16 x float> poison, float %v153, i32 0
  %v155 = shufflevector <16 x float> %v154, <16 x float> poison, <16 x i32> zeroinitializer
  %v156 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v152, <16 x float> %v155, <16 x float> %v146)
  %v157 = getelementptr [1 x i8], ptr %v149, i64 %v51
  %v158 = load float, ptr %v157, align 1
  %v159 = insertelement <16 x float> poison, float %v158, i32 0
  %v160 = shufflevector <16 x float> %v159, <16 x float> poison, <16 x i32> zeroinitializer
  %v161 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v152, <16 x float> %v160, <16 x float> %v147)
  %v162 = getelementptr i8, ptr %v149, i64 %v49
  %v163 = getelementptr [1 x i8], ptr %v148, i64 %v44
  %v164 = add i64 %v143, 1
  %v165 = icmp slt i64 %v164, %v6
  br i1 %v165, label %"loop.3", label %"done.3"
done.3:
  %v166 = phi ptr [%v138, %"done.2"], [%v163, %"loop.3"]
  %v167 = phi ptr [%v139, %"done.2"], [%v162, %"loop.3"]
  %v168 = phi <16 x float> [%v140, %"done.2"], [%v156, %"loop.3"]
  %v169 = phi <16 x float> [%v141, %"done.2"], [%v161, %"loop.3"]
  %v170 = and i1 %v29, %v33
  %v171 = or i1 %v32, %v170
  br i1 %v171, label %"done.3.if", label %"done.3.else"
done.3.if:
  store <16 x float> %v168, ptr %v34, align 1
  %v172 = getelementptr i8, ptr %v34, i64 64
  store <16 x float> %v169, ptr %v172, align 1
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v66, i64 16, i64 %v60, i64 2)
  br label %"done.3.endif"
done.3.else:
  br i1 %v29, label %"done.3.else.if", label %"done.3.else.else"
done.3.endif:
  %v197 = add i64 %v63, 1
  %v198 = icmp slt i64 %v197, %v61
  br i1 %v198, label %"loop.1", label %"done.1"
done.3.else.if:
  %v173 = mul i64 %v60, 8
  %v174 = getelementptr i8, ptr %v19, i64 %v173
  %v175 = getelementptr i64, ptr %v174, i64 0
  %v176 = load i64, ptr %v175, align 8
  %v177 = getelementptr i8, ptr %v13, i64 %v176
  %v178 = getelementptr i8, ptr %v177, i64 %v73
  store <16 x float> %v168, ptr %v178, align 1
  %v179 = getelementptr i64, ptr %v174, i64 1
  %v180 = load i64, ptr %v179, align 8
  %v181 = getelementptr i8, ptr %v13, i64 %v180
  %v182 = getelementptr i8, ptr %v181, i64 %v73
  store <16 x float> %v169, ptr %v182, align 1
  br label %"done.3.else.endif"
done.3.else.else:
  %v183 = mul i64 %v60, 8
  %v184 = getelementptr i8, ptr %v19, i64 %v183
  %v185 = getelementptr i64, ptr %v184, i64 0
  %v186 = load i64, ptr %v185, align 8
  %v187 = getelementptr i8, ptr %v13, i64 %v186
  %v188 = getelementptr i8, ptr %v187, i64 %v73
  %v189 = load <16 x float>, ptr %v188, align 1
  %v190 = fadd <16 x float> %v189, %v168
  store <16 x float> %v190, ptr %v188, align 1
  %v191 = getelementptr i64, ptr %v184, i64 1
  %v192 = load i64, ptr %v191, align 8
  %v193 = getelementptr i8, ptr %v13, i64 %v192
  %v194 = getelementptr i8, ptr %v193, i64 %v73
  %v195 = load <16 x float>, ptr %v194, align 1
  %v196 = fadd <16 x float> %v195, %v169
  store <16 x float> %v196, ptr %v194, align 1
  br label %"done.3.else.endif"
done.3.else.endif:
  br label %"done.3.endif"
done.1.if:
  %v203 = sub i64 %v2, %v199
  %v204 = icmp slt i64 0, %v203
  br i1 %v204, label %"loop.4", label %"done.4"
done.1.endif:
  %v317 = add i64 %v57, 1
  %v318 = icmp slt i64 %v317, %v55
  br i1 %v318, label %"loop", label %"done"
loop.4:
  %v205 = phi i64 [0, %"done.1.if"], [%v315, %"done.6"]
  %v206 = sub i64 %v203, %v205
  %v207 = icmp slt i64 16, %v206
  %v208 = select i1 %v207, i64 16, i64 %v206
  %v209 = trunc i64 %v208 to i32
  %v210 = insertelement <16 x i32> poison, i32 %v209, i32 0
  %v211 = shufflevector <16 x i32> %v210, <16 x i32> poison, <16 x i32> zeroinitializer
  %v212 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v211
  %v213 = call <16 x i1> asm  "", "=k,0"(<16 x i1> %v212)
  %v214 = mul i64 %v205, 4
  %v215 = getelementptr i8, ptr %v201, i64 %v214
  %v216 = and i64 %v6, -4
  %v217 = icmp slt i64 0, %v216
  br i1 %v217, label %"loop.5", label %"done.5"
done.4:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v199, i64 %v203, i64 %v60, i64 2)
  br label %"done.1.endif"
loop.5:
  %v218 = phi i64 [0, %"loop.4"], [%v278, %"loop.5"]
  %v219 = phi ptr [%v215, %"loop.4"], [%v277, %"loop.5"]
  %v220 = phi ptr [%v59, %"loop.4"], [%v276, %"loop.5"]
  %v221 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v270, %"loop.5"]
  %v222 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v275, %"loop.5"]
  %v223 = call ptr asm  "", "=r,0"(ptr %v219)
  %v224 = call ptr asm  "", "=r,0"(ptr %v220)
  %v225 = getelementptr i8, ptr %v223, i64 %v47
  %v226 = call ptr asm  "", "=r,0"(ptr %v225)
  call void @"llvm.prefetch.p0"(ptr %v226, i32 0, i32 3, i32 1)
  %v227 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v223, i32 1, <16 x i1> %v213, <16 x float> zeroinitializer)
  %v228 = load float, ptr %v224, align 1
  %v229 = insertelement <16 x float> poison, float %v228, i32 0
  %v230 = shufflevector <16 x float> %v229, <16 x float> poison, <16 x i32> zeroinitializer
  %v231 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v227, <16 x float> %v230, <16 x float> %v221)
  %v232 = getelementptr [1 x i8], ptr %v224, i64 %v51
  %v233 = load float, ptr %v232, align 1
  %v234 = insertelement <16 x float> poison, float %v233, i32 0
  %v235 = shufflevector <16 x float> %v234, <16 x float> poison, <16 x i32> zeroinitializer
  %v236 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v227, <16 x float> %v235, <16 x float> %v222)
  %v237 = getelementptr i8, ptr %v224, i64 %v49
  %v238 = getelementptr [1 x i8], ptr %v226, i64 %v44
  call void @"llvm.prefetch.p0"(ptr %v238, i32 0, i32 3, i32 1)
  %v239 = getelementptr [1 x i8], ptr %v223, i64 %v44
  %v240 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v239, i32 1, <16 x i1> %v213, <16 x float> zeroinitializer)
  %v241 = load float, ptr %v237, align 1
  %v242 = insertelement <16 x float> poison, float %v241, i32 0
  %v243 = shufflevector <16 x float> %v242, <16 x float> poison, <16 x i32> zeroinitializer
  %v244 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v240, <16 x float> %v243, <16 x float> %v231)
  %v245 = getelementptr [1 x i8], ptr %v237, i64 %v51
  %v246 = load float, ptr %v245, align 1
  %v247 = insertelement <16 x float> poison, float %v246, i32 0
  %v248 = shufflevector <16 x float> %v247, <16 x float> poison, <16 x i32> zeroinitializer
  %v249 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v240, <16 x float> %v248, <16 x float> %v236)
  %v250 = getelementptr i8, ptr %v237, i64 %v49
  %v251 = getelementptr [2 x i8], ptr %v226, i64 %v44
  call void @"llvm.prefetch.p0"(ptr %v251, i32 0, i32 3, i32 1)
  %v252 = getelementptr [2 x i8], ptr %v223, i64 %v44
  %v253 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v252, i32 1, <16 x i1> %v213, <16 x float> zeroinitializer)
  %v254 = load float, ptr %v250, align 1
  %v255 = insertelement <16 x float> poison, float %v254, i32 0
  %v256 = shufflevector <16 x float> %v255, <16 x float> poison, <16 x i32> zeroinitializer
  %v257 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v253, <16 x float> %v256, <16 x float> %v244)
  %v258 = getelementptr [1 x i8], ptr %v250, i64 %v51
  %v259 = load float, ptr %v258, align 1
  %v260 = insertelement <16 x float> poison, float %v259, i32 0
  %v261 = shufflevector <16 x float> %v260, <16 x float> poison, <16 x i32> zeroinitializer
  %v262 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v253, <16 x float> %v261, <16 x float> %v249)
  %v263 = getelementptr i8, ptr %v250, i64 %v49
  %v264 = getelementptr [1 x i8], ptr %v226, i64 %v45
  call void @"llvm.prefetch.p0"(ptr %v264, i32 0, i32 3, i32 1)
  %v265 = getelementptr [1 x i8], ptr %v223, i64 %v45
  %v266 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v265, i32 1, <16 x i1> %v213, <16 x float> zeroinitializer)
  %v267 = load float, ptr %v263, align 1
  %v268 = insertelement <16 x float> poison, float %v267, i32 0
  %v269 = shufflevector <16 x float> %v268, <16 x float> poison, <16 x i32> zeroinitializer
  %v270 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v266, <16 x float> %v269, <16 x float> %v257)
  %v271 = getelementptr [1 x i8], ptr %v263, i64 %v51
  %v272 = load float, ptr %v271, align 1
  %v273 = insertelement <16 x float> poison, float %v272, i32 0
  %v274 = shufflevector <16 x float> %v273, <16 x float> poison, <16 x i32> zeroinitializer
  %v275 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v266, <16 x float> %v274, <16 x float> %v262)
  %v276 = getelementptr i8, ptr %v263, i64 %v49
  %v277 = getelementptr [4 x i8], ptr %v223, i64 %v44
  %v278 = add i64 %v218, 4
  %v279 = icmp slt i64 %v278, %v216
  br i1 %v279, label %"loop.5", label %"done.5"
done.5:
  %v280 = phi ptr [%v215, %"loop.4"], [%v277, %"loop.5"]
  %v281 = phi ptr [%v59, %"loop.4"], [%v276, %"loop.5"]
  %v282 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v270, %"loop.5"]
  %v283 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v275, %"loop.5"]
  %v284 = icmp slt i64 %v216, %v6
  br i1 %v284, label %"loop.6", label %"done.6"
loop.6:
  %v285 = phi i64 [%v216, %"done.5"], [%v306, %"loop.6"]
  %v286 = phi ptr [%v280, %"done.5"], [%v305, %"loop.6"]
  %v287 = phi ptr [%v281, %"done.5"], [%v304, %"loop.6"]
  %v288 = phi <16 x float> [%v282, %"done.5"], [%v298, %"loop.6"]
  %v289 = phi <16 x float> [%v283, %"done.5"], [%v303, %"loop.6"]
  %v290 = call ptr asm  "", "=r,0"(ptr %v286)
  %v291 = call ptr asm  "", "=r,0"(ptr %v287)
  %v292 = getelementptr i8, ptr %v290, i64 %v47
  %v293 = call ptr asm  "", "=r,0"(ptr %v292)
  call void @"llvm.prefetch.p0"(ptr %v293, i32 0, i32 3, i32 1)
  %v294 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v290, i32 1, <16 x i1> %v213, <16 x float> zeroinitializer)
  %v295 = load float, ptr %v291, align 1
  %v296 = insertelement <16 x float> poison, float %v295, i32 0
  %v297 = shufflevector <16 x float> %v296, <16 x float> poison, <16 x i32> zeroinitializer
  %v298 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v294, <16 x float> %v297, <16 x float> %v288)
  %v299 = getelementptr [1 x i8], ptr %v291, i64 %v51
  %v300 = load float, ptr %v299, align 1
  %v301 = insertelement <16 x float> poison, float %v300, i32 0
  %v302 = shufflevector <16 x float> %v301, <16 x float> poison, <16 x i32> zeroinitializer
  %v303 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v294, <16 x float> %v302, <16 x float> %v289)
  %v304 = getelementptr i8, ptr %v291, i64 %v49
  %v305 = getelementptr [1 x i8], ptr %v290, i64 %v44
  %v306 = add i64 %v285, 1
  %v307 = icmp slt i64 %v306, %v6
  br i1 %v307, label %"loop.6", label %"done.6"
done.6:
  %v308 = phi ptr [%v280, %"done.5"], [%v305, %"loop.6"]
  %v309 = phi ptr [%v281, %"done.5"], [%v304, %"loop.6"]
  %v310 = phi <16 x float> [%v282, %"done.5"], [%v298, %"loop.6"]
  %v311 = phi <16 x float> [%v283, %"done.5"], [%v303, %"loop.6"]
  %v312 = mul i64 %v205, 4
  %v313 = getelementptr i8, ptr %v34, i64 %v312
  store <16 x float> %v310, ptr %v313, align 1
  %v314 = getelementptr i8, ptr %v313, i64 64
  store <16 x float> %v311, ptr %v314, align 1
  %v315 = add i64 %v205, 16
  %v316 = icmp slt i64 %v315, %v203
  br i1 %v316, label %"loop.4", label %"done.4"
loop.7:
  %v323 = phi i64 [%v319, %"done"], [%v412, %"done.8.endif"]
  %v324 = sub i64 %v4, %v323
  %v325 = icmp slt i64 1, %v324
  %v326 = select i1 %v325, i64 1, i64 %v324
  %v327 = sub i64 %v323, %v319
  %v328 = mul i64 %v327, %v51
  %v329 = getelementptr i8, ptr %v321, i64 %v328
  %v330 = sub i64 %v326, 1
  %v331 = icmp slt i64 0, %v330
  %v332 = select i1 %v331, i64 0, i64 %v330
  %v333 = mul i64 %v332, %v51
  %v334 = udiv i64 %v2, 16
  %v335 = icmp slt i64 0, %v334
  br i1 %v335, label %"loop.8", label %"done.8"
done.7:
  ret void
loop.8:
  %v336 = phi i64 [0, %"loop.7"], [%v373, %"done.9.endif"]
  %v337 = mul i64 %v336, 64
  %v338 = getelementptr i8, ptr %v38, i64 %v337
  %v339 = mul i64 %v336, 16
  %v340 = getelementptr i64, ptr %"descriptor", i64 13
  %v341 = load ptr, ptr %v340, align 8
  %v342 = getelementptr i64, ptr %"frame", i64 8
  %v343 = load i64, ptr %v342, align 8
  %v344 = add i64 %v343, %v339
  %v345 = getelementptr i64, ptr %v341, i64 %v344
  %v346 = load i64, ptr %v345, align 8
  br label %"repeat"
done.8:
  %v375 = mul i64 %v334, 16
  %v376 = mul i64 %v334, 64
  %v377 = getelementptr i8, ptr %v38, i64 %v376
  %v378 = icmp slt i64 %v375, %v2
  br i1 %v378, label %"done.8.if", label %"done.8.endif"
repeat:
  %v347 = phi i64 [0, %"loop.8"], [%v361, %"repeat"]
  %v348 = phi ptr [%v338, %"loop.8"], [%v360, %"repeat"]
  %v349 = phi ptr [%v329, %"loop.8"], [%v359, %"repeat"]
  %v350 = phi <16 x float> [splat (float              0x0), %"loop.8"], [%v358, %"repeat"]
  %v351 = call ptr asm  "", "=r,0"(ptr %v348)
  %v352 = call ptr asm  "", "=r,0"(ptr %v349)
  %v353 = load <16 x float>, ptr %v351, align 1
  %v354 = getelementptr i8, ptr %v352, i64 %v333
  %v355 = load float, ptr %v354, align 1
  %v356 = insertelement <16 x float> poison, float %v355, i32 0
  %v357 = shufflevector <16 x float> %v356, <16 x float> poison, <16 x i32> zeroinitializer
  %v358 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v353, <16 x float> %v357, <16 x float> %v350)
  %v359 = getelementptr i8, ptr %v352, i64 %v49
  %v360 = getelementptr [1 x i8], ptr %v351, i64 %v44
  %v361 = add i64 %v347, 1
  %v362 = icmp slt i64 %v361, %v6
  br i1 %v362, label %"repeat", label %"done.9"
done.9:
  %v363 = and i1 %v29, %v33
  %v364 = or i1 %v32, %v363
  %v365 = xor i1 %v29, -1
  %v366 = or i1 %v364, %v365
  br i1 %v366, label %"done.9.if", label %"done.9.else"
done.9.if:
  store <16 x float> %v358, ptr %v34, align 1
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v339, i64 16, i64 %v323, i64 %v326)
  br label %"done.9.endif"
done.9.else:
  %v367 = mul i64 %v323, 8
  %v368 = getelementptr i8, ptr %v19, i64 %v367
  %v369 = getelementptr i64, ptr %v368, i64 0
  %v370 = load i64, ptr %v369, align 8
  %v371 = getelementptr i8, ptr %v13, i64 %v370
  %v372 = getelementptr i8, ptr %v371, i64 %v346
  store <16 x float> %v358, ptr %v372, align 1
  br label %"done.9.endif"
done.9.endif:
  %v373 = add i64 %v336, 1
  %v374 = icmp slt i64 %v373, %v334
  br i1 %v374, label %"loop.8", label %"done.8"
done.8.if:
  %v379 = sub i64 %v2, %v375
  %v380 = icmp slt i64 0, %v379
  br i1 %v380, label %"loop.9", label %"done.10"
done.8.endif:
  %v412 = add i64 %v323, 1
  %v413 = icmp slt i64 %v412, %v4
  br i1 %v413, label %"loop.7", label %"done.7"
loop.9:
  %v381 = phi i64 [0, %"done.8.if"], [%v410, %"done.11"]
  %v382 = sub i64 %v379, %v381
  %v383 = icmp slt i64 16, %v382
  %v384 = select i1 %v383, i64 16, i64 %v382
  %v385 = trunc i64 %v384 to i32
  %v386 = insertelement <16 x i32> poison, i32 %v385, i32 0
  %v387 = shufflevector <16 x i32> %v386, <16 x i32> poison, <16 x i32> zeroinitializer
  %v388 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v387
  %v389 = call <16 x i1> asm  "", "=k,0"(<16 x i1> %v388)
  %v390 = mul i64 %v381, 4
  %v391 = getelementptr i8, ptr %v377, i64 %v390
  br label %"repeat.1"
done.10:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v375, i64 %v379, i64 %v323, i64 %v326)
  br label %"done.8.endif"
repeat.1:
  %v392 = phi i64 [0, %"loop.9"], [%v406, %"repeat.1"]
  %v393 = phi ptr [%v391, %"loop.9"], [%v405, %"repeat.1"]
  %v394 = phi ptr [%v329, %"loop.9"], [%v404, %"repeat.1"]
  %v395 = phi <16 x float> [splat (float              0x0), %"loop.9"], [%v403, %"repeat.1"]
  %v396 = call ptr asm  "", "=r,0"(ptr %v393)
  %v397 = call ptr asm  "", "=r,0"(ptr %v394)
  %v398 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v396, i32 1, <16 x i1> %v389, <16 x float> zeroinitializer)
  %v399 = getelementptr i8, ptr %v397, i64 %v333
  %v400 = load float, ptr %v399, align 1
  %v401 = insertelement <16 x float> poison, float %v400, i32 0
  %v402 = shufflevector <16 x float> %v401, <16 x float> poison, <16 x i32> zeroinitializer
  %v403 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v398, <16 x float> %v402, <16 x float> %v395)
  %v404 = getelementptr i8, ptr %v397, i64 %v49
  %v405 = getelementptr [1 x i8], ptr %v396, i64 %v44
  %v406 = add i64 %v392, 1
  %v407 = icmp slt i64 %v406, %v6
  br i1 %v407, label %"repeat.1", label %"done.11"
done.11:
  %v408 = mul i64 %v381, 4
  %v409 = getelementptr i8, ptr %v34, i64 %v408
  store <16 x float> %v403, ptr %v409, align 1
  %v410 = add i64 %v381, 16
  %v411 = icmp slt i64 %v410, %v379
  br i1 %v411, label %"loop.9", label %"done.10"
}

define internal void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7")
{
entry:
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 25
  %v2 = load i64, ptr %v1, align 8
  %v3 = icmp ne i64 %v2, 0
  %v4 = getelementptr i64, ptr %"frame", i64 2
  %v5 = load ptr, ptr %v4, align 8
  %v6 = getelementptr i64, ptr %"frame", i64 9
  %v7 = load i64, ptr %v6, align 8
  %v8 = getelementptr i64, ptr %"descriptor", i64 9
  %v9 = load ptr, ptr %v8, align 8
  %v10 = mul i64 %v7, 8
  %v11 = getelementptr i8, ptr %v9, i64 %v10
  %v12 = getelementptr i64, ptr %"frame", i64 26
  %v13 = load ptr, ptr %v12, align 8
  %v14 = getelementptr i64, ptr %v13, i64 8
  %v15 = load i64, ptr %v14, align 8
  %v16 = getelementptr i64, ptr %"frame", i64 24
  %v17 = load i64, ptr %v16, align 8
  %v18 = icmp ne i64 %v17, 0
  %v19 = icmp eq i64 %v15, 2
  %v20 = xor i1 %v19, -1
  %v21 = and i1 %v18, %v20
  %v22 = getelementptr i64, ptr %v13, i64 9
  %v23 = load i64, ptr %v22, align 8
  %v24 = icmp ne i64 %v23, 0
  %v25 = icmp ne i64 %v15, 0
  %v26 = mul i64 %".6", 8
  %v27 = getelementptr i8, ptr %v11, i64 %v26
  %v28 = and i1 %v21, %v25
  %v29 = or i1 %v24, %v28
  %v30 = xor i1 %v21, -1
  %v31 = or i1 %v30, %v25
  %v32 = getelementptr i64, ptr %"descriptor", i64 13
  %v33 = load ptr, ptr %v32, align 8
  %v34 = getelementptr i64, ptr %"frame", i64 8
  %v35 = load i64, ptr %v34, align 8
  %v36 = add i64 %v35, %".4"
  %v37 = getelementptr i64, ptr %v33, i64 %v36
  %v38 = load i64, ptr %v37, align 8
  %v39 = and i64 %".5", -16
  %v40 = icmp slt i64 0, %v39
  br i1 %v40, label %"loop", label %"done"
loop:
  %v41 = phi i64 [0, %"body"], [%v93, %"loop.endif"]
  %v42 = mul i64 %v41, 4
  %v43 = getelementptr i8, ptr %".3", i64 %v42
  %v44 = mul i64 %v41, 4
  %v45 = add i64 %v38, %v44
  %v46 = getelementptr i8, ptr %v5, i64 %v45
  br i1 %v29, label %"loop.if", label %"loop.else"
done:
  %v95 = sub i64 %".5", %v39
  %v96 = icmp slt i64 0, %v95
  br i1 %v96, label %"done.if", label %"done.endif"
loop.if:
  %v47 = icmp slt i64 0, %".7"
  br i1 %v47, label %"loop.1", label %"done.1"
loop.else:
  br i1 %v21, label %"loop.else.if", label %"loop.else.else"
loop.endif:
  %v93 = add i64 %v41, 16
  %v94 = icmp slt i64 %v93, %v39
  br i1 %v94, label %"loop", label %"done"
loop.1:
  %v48 = phi i64 [0, %"loop.if"], [%v69, %"loop.1.endif.endif"]
  %v49 = mul i64 %v48, 64
  %v50 = getelementptr i8, ptr %v43, i64 %v49
  %v51 = load <16 x float>, ptr %v50, align 1
  %v52 = getelementptr i64, ptr %v27, i64 %v48
  %v53 = load i64, ptr %v52, align 8
  %v54 = getelementptr i8, ptr %v46, i64 %v53
  %v55 = load float, ptr %v13, align 1
  %v56 = insertelement <16 x float> poison, float %v55, i32 0
  %v57 = shufflevector <16 x float> %v56, <16 x float> poison, <16 x i32> zeroinitializer
  %v58 = getelementptr i8, ptr %v13, i64 32
  %v59 = load float, ptr %v58, align 1
  %v60 = insertelement <16 x float> poison, float %v59, i32 0
  %v61 = shufflevector <16 x float> %v60, <16 x float> poison, <16 x i32> zeroinitializer
  br i1 %v24, label %"loop.1.if", label %"loop.1.else"
done.1:
  br label %"loop.endif"
loop.1.if:
  %v62 = fmul <16 x float> %v57, %v51
  br label %"loop.1.endif"
loop.1.else:
  br label %"loop.1.endif"
loop.1.endif:
  %v63 = phi <16 x float> [%v62, %"loop.1.if"], [%v51, %"loop.1.else"]
  br i1 %v31, label %"loop.1.endif.if", label %"loop.1.endif.else"
loop.1.endif.if:
  %v64 = load <16 x float>, ptr %v54, align 1
  br i1 %v21, label %"loop.1.endif.if.if", label %"loop.1.endif.if.else"
loop.1.endif.else:
  br label %"loop.1.endif.endif"
loop.1.endif.endif:
  %v68 = phi <16 x float> [%v67, %"loop.1.endif.if.endif"], [%v63, %"loop.1.endif.else"]
  store <16 x float> %v68, ptr %v54, align 1
  %v69 = add i64 %v48, 1
  %v70 = icmp slt i64 %v69, %".7"
  br i1 %v70, label %"loop.1", label %"done.1"
loop.1.endif.if.if:
  %v65 = fmul <16 x float> %v61, %v64
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.else:
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.endif:
  %v66 = phi <16 x float> [%v65, %"loop.1.endif.if.if"], [%v64, %"loop.1.endif.if.else"]
  %v67 = fadd <16 x float> %v66, %v63
  br label %"loop.1.endif.endif"
loop.else.if:
  %v71 = icmp slt i64 0, %".7"
  br i1 %v71, label %"loop.2", label %"done.2"
loop.else.else:
  %v81 = icmp slt i64 0, %".7"
  br i1 %v81, label %"loop.3", label %"done.3"
loop.else.endif:
  br label %"loop.endif"
loop.2:
  %v72 = phi i64 [0, %"loop.else.if"], [%v79, %"loop.2"]
  %v73 = mul i64 %v72, 64
  %v74 = getelementptr i8, ptr %v43, i64 %v73
  %v75 = load <16 x float>, ptr %v74, align 1
  %v76 = getelementptr i64, ptr %v27, i64 %v72
  %v77 = load i64, ptr %v76, align 8
  %v78 = getelementptr i8, ptr %v46, i64 %v77
  store <16 x float> %v75, ptr %v78, align 1
  %v79 = add i64 %v72, 1
  %v80 = icmp slt i64 %v79, %".7"
  br i1 %v80, label %"loop.2", label %"done.2"
done.2:
  br label %"loop.else.endif"
loop.3:
  %v82 = phi i64 [0, %"loop.else.else"], [%v91, %"loop.3"]
  %v83 = mul i64 %v82, 64
  %v84 = getelementptr i8, ptr %v43, i64 %v83
  %v85 = load <16 x float>, ptr %v84, align 1
  %v86 = getelementptr i64, ptr %v27, i64 %v82
  %v87 = load i64, ptr %v86, align 8
  %v88 = getelementptr i8, ptr %v46, i64 %v87
  %v89 = load <16 x float>, ptr %v88, align 1
  %v90 = fadd <16 x float> %v89, %v85
  store <16 x float> %v90, ptr %v88, align 1
  %v91 = add i64 %v82, 1
  %v92 = icmp slt i64 %v91, %".7"
  br i1 %v92, label %"loop.3", label %"done.3"
done.3:
  br label %"loop.else.endif"
done.if:
  %v97 = mul i64 %v39, 4
  %v98 = getelementptr i8, ptr %".3", i64 %v97
  %v99 = mul i64 %v39, 4
  %v100 = add i64 %v38, %v99
  %v101 = getelementptr i8, ptr %v5, i64 %v100
  br i1 %v29, label %"done.if.if", label %"done.if.else"
done.endif:
  ret void
done.if.if:
  %v102 = icmp slt i64 0, %".7"
  br i1 %v102, label %"loop.4", label %"done.4"
done.if.else:
  br i1 %v21, label %"done.if.else.if", label %"done.if.else.else"
done.if.endif:
  br label %"done.endif"
loop.4:
  %v103 = phi i64 [0, %"done.if.if"], [%v132, %"loop.4.endif.endif"]
  %v104 = mul i64 %v103, 64
  %v105 = getelementptr i8, ptr %v98, i64 %v104
  %v106 = load <16 x float>, ptr %v105, align 1
  %v107 = getelementptr i64, ptr %v27, i64 %v103
  %v108 = load i64, ptr %v107, align 8
  %v109 = getelementptr i8, ptr %v101, i64 %v108
  %v110 = load float, ptr %v13, align 1
  %v111 = insertelement <16 x float> poison, float %v110, i32 0
  %v112 = shufflevector <16 x float> %v111, <16 x float> poison, <16 x i32> zeroinitializer
  %v113 = getelementptr i8, ptr %v13, i64 32
  %v114 = load float, ptr %v113, align 1
  %v115 = insertelement <16 x float> poison, float %v114, i32 0
  %v116 = shufflevector <16 x float> %v115, <16 x float> poison, <16 x i32> zeroinitializer
  br i1 %v24, label %"loop.4.if", label %"loop.4.else"
done.4:
  br label %"done.if.endif"
loop.4.if:
  %v117 = fmul <16 x float> %v112, %v106
  br label %"loop.4.endif"
loop.4.else:
  br label %"loop.4.endif"
loop.4.endif:
  %v118 = phi <16 x float> [%v117, %"loop.4.if"], [%v106, %"loop.4.else"]
  br i1 %v31, label %"loop.4.endif.if", label %"loop.4.endif.else"
loop.4.endif.if:
  %v119 = trunc i64 %v95 to i32
  %v120 = insertelement <16 x i32> poison, i32 %v119, i32 0
  %v121 = shufflevector <16 x i32> %v120, <16 x i32> poison, <16 x i32> zeroinitializer
  %v122 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v121
  %v123 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v109, i32 1, <16 x i1> %v122, <16 x float> zeroinitializer)
  br i1 %v21, label %"loop.4.endif.if.if", label %"loop.4.endif.if.else"
loop.4.endif.else:
  br label %"loop.4.endif.endif"
loop.4.endif.endif:
  %v127 = phi <16 x float> [%v126, %"loop.4.endif.if.endif"], [%v118, %"loop.4.endif.else"]
  %v128 = trunc i64 %v95 to i32
  %v129 = insertelement <16 x i32> poison, i32 %v128, i32 0
  %v130 = shufflevector <16 x i32> %v129, <16 x i32> poison, <16 x i32> zeroinitializer
  %v131 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v130
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v127, ptr %v109, i32 1, <16 x i1> %v131)
  %v132 = add i64 %v103, 1
  %v133 = icmp slt i64 %v132, %".7"
  br i1 %v133, label %"loop.4", label %"done.4"
loop.4.endif.if.if:
  %v124 = fmul <16 x float> %v116, %v123
  br label %"loop.4.endif.if.endif"
loop.4.endif.if.else:
  br label %"loop.4.endif.if.endif"
loop.4.endif.if.endif:
  %v125 = phi <16 x float> [%v124, %"loop.4.endif.if.if"], [%v123, %"loop.4.endif.if.else"]
  %v126 = fadd <16 x float> %v125, %v118
  br label %"loop.4.endif.endif"
done.if.else.if:
  %v134 = icmp slt i64 0, %".7"
  br i1 %v134, label %"loop.5", label %"done.5"
done.if.else.else:
  %v148 = icmp slt i64 0, %".7"
  br i1 %v148, label %"loop.6", label %"done.6"
done.if.else.endif:
  br label %"done.if.endif"
loop.5:
  %v135 = phi i64 [0, %"done.if.else.if"], [%v146, %"loop.5"]
  %v136 = mul i64 %v135, 64
  %v137 = getelementptr i8, ptr %v98, i64 %v136
  %v138 = load <16 x float>, ptr %v137, align 1
  %v139 = getelementptr i64, ptr %v27, i64 %v135
  %v140 = load i64, ptr %v139, align 8
  %v141 = getelementptr i8, ptr %v101, i64 %v140
  %v142 = trunc i64 %v95 to i32
  %v143 = insertelement <16 x i32> poison, i32 %v142, i32 0
  %v144 = shufflevector <16 x i32> %v143, <16 x i32> poison, <16 x i32> zeroinitializer
  %v145 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v144
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v138, ptr %v141, i32 1, <16 x i1> %v145)
  %v146 = add i64 %v135, 1
  %v147 = icmp slt i64 %v146, %".7"
  br i1 %v147, label %"loop.5", label %"done.5"
done.5:
  br label %"done.if.else.endif"
loop.6:
  %v149 = phi i64 [0, %"done.if.else.else"], [%v162, %"loop.6"]
  %v150 = mul i64 %v149, 64
  %v151 = getelementptr i8, ptr %v98, i64 %v150
  %v152 = load <16 x float>, ptr %v151, align 1
  %v153 = getelementptr i64, ptr %v27, i64 %v149
  %v154 = load i64, ptr %v153, align 8
  %v155 = getelementptr i8, ptr %v101, i64 %v154
  %v156 = trunc i64 %v95 to i32
  %v157 = insertelement <16 x i32> poison, i32 %v156, i32 0
  %v158 = shufflevector <16 x i32> %v157, <16 x i32> poison, <16 x i32> zeroinitializer
  %v159 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v158
  %v160 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v155, i32 1, <16 x i1> %v159, <16 x float> zeroinitializer)
  %v161 = fadd <16 x float> %v160, %v152
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v161, ptr %v155, i32 1, <16 x i1> %v159)
  %v162 = add i64 %v149, 1
  %v163 = icmp slt i64 %v162, %".7"
  br i1 %v163, label %"loop.6", label %"done.6"
done.6:
  br label %"done.if.else.endif"
}

declare <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %".1", i32 %".2", <16 x i1> %".3", <16 x float> %".4")

declare void @"llvm.masked.store.v16f32.p0"(<16 x float> %".1", ptr %".2", i32 %".3", <16 x i1> %".4")

declare void @"llvm.prefetch.p0"(ptr %".1", i32 %".2", i32 %".3", i32 %".4")

declare <16 x float> @"llvm.fma.v16f32"(<16 x float> %".1", <16 x float> %".2", <16 x float> %".3")
